-- acquire.lua: take the lock for owner, or enter it again.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- ARGV[1]  owner, "uuid:seq"
-- ARGV[2]  lease, in ms
-- ARGV[3]  hold count to set: 1 takes a free lock too, more only enters a held one
-- ARGV[4]  fencing token proposed
-- ARGV[5]  time to live of the fencing counter, in ms
-- returns  the fencing counter, above 0: owner has the lock;
--          0: nobody has it, and the count asked for was above 1;
--          {ms left, holder}: another owner has it (-1 ms: it never expires)
-- Called by Node.Send with an Acquire command. A repeat changes nothing but the
-- expiry, which never shrinks.

local left = redis.call('pttl', KEYS[1])

if left == -2 then
  if ARGV[3] ~= '1' then
    return 0
  end
  local token, last = ARGV[4], tonumber(redis.call('get', KEYS[2]) or 0)
  assert(last, 'the fencing counter is no number')
  if last >= tonumber(token) then
    token = string.format('%.0f', last + 1)
  end
  redis.call('set', KEYS[2], token, 'px', ARGV[5])
  redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
  redis.call('pexpire', KEYS[1], ARGV[2])
  return tonumber(token)
end

if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return {left, redis.call('hkeys', KEYS[1])[1]}
end

-- Checked before anything is written: a script that fails is not rolled back.
local token = tonumber(redis.call('get', KEYS[2]) or ARGV[4])
assert(token and token > 0, 'the fencing counter is no positive number')
redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[5], 'nx')
redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
if left < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return token
