-- acquire.lua: take the lock for owner, or enter it again, or wait for it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue, see pass.lua
-- KEYS[4]  Redisson's turn, see pass.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease, in ms
-- ARGV[3]  hold count to set: 1 takes a free lock too, more only enters a held one
-- ARGV[4]  fencing token proposed
-- ARGV[5]  time to live of the fencing counter, in ms
-- ARGV[6]  number of this ask, if owner waits in the queue; else there are no more
-- ARGV[7]  when it began to wait, in us by its clock
-- ARGV[8]  lease for which the lock may be passed to it, in ms
-- returns  OK: owner has the lock, and its fencing counter is the token proposed;
--          the fencing counter, above 0: owner has the lock;
--          0: nobody has it, and the count asked for was above 1;
--          {ms left, holder}: another owner has it (-1 ms: it never expires)
-- Called by Node.Send with an Acquire command. A repeat changes nothing but the
-- expiry, which never shrinks.

local lock, counter, queue, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, count, proposal, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- take gives the free lock to owner and returns the answer.
local function take()
  local token = proposal
  local last = redis.call('get', counter)
  if last then
    last = tonumber(last)
    assert(last, 'the fencing counter is no number')
    if last >= tonumber(token) then
      token = string.format('%.0f', last + 1)
    end
  end
  redis.call('set', counter, token, 'px', ttl)
  redis.call('hset', lock, owner, count)
  redis.call('pexpire', lock, lease)
  return token == proposal and redis.status_reply('OK') or tonumber(token)
end

-- Most locks are free and nobody waits for them: what follows is for the others.
if count == '1' and redis.call('exists', lock, queue) == 0 then
  return take()
end

-- #include pass.lua

local left = redis.call('pttl', lock)

if left == -2 then
  if count ~= '1' then
    return 0
  end
  if redis.call('exists', queue) == 1 then
    -- Nobody overtakes those who wait: a lease that ran out goes to the first of them.
    if ARGV[6] then
      enter(owner, ARGV[6], ARGV[7], ARGV[8])
    end
    local ms = redis.call('pttl', turn)
    if ms > 0 then
      return {ms, 'redisson'}
    end
    local holder, ms = pass(proposal, ttl, owner)
    if holder and holder ~= owner then
      return {ms, holder}
    end
  end
  return take()
end

local holder = redis.call('hkeys', lock)[1]
if holder ~= owner then
  if ARGV[6] then
    enter(owner, ARGV[6], ARGV[7], ARGV[8])
  end
  return {left, holder}
end

-- Checked before anything is written: a script that fails is not rolled back.
local token = tonumber(redis.call('get', counter) or proposal)
assert(token and token > 0, 'the fencing counter is no positive number')
redis.call('set', counter, proposal, 'px', ttl, 'nx')
redis.call('hset', lock, owner, count)
if left < tonumber(lease) then
  redis.call('pexpire', lock, lease)
end
return token
