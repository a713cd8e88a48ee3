-- acquire.lua: take the lock for owner, or wait for it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue, see queue.lua
-- KEYS[4]  Redisson's turn, see queue.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease, in ms; 0 to wait only, and leave the lock even if it is free
-- ARGV[3]  fencing token proposed
-- ARGV[4]  entry of owner, see queue.lua, if it waits in the queue
-- returns  0: owner has the lock, and its fencing counter is the token proposed;
--          the fencing counter, above 0: owner has the lock;
--          {ms left, holder}: another owner has it (-1 ms: it never expires), or nobody:
--          0 ms and an empty string;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by Node.Send with an Acquire, AcquireOrRegister or Register command. A repeat
-- changes nothing but the expiry, which never shrinks.

-- #include fence.lua

local lock, counter, queue, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, proposal, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ttl = string.format('%.0f', lease + fenceTTL) -- Redis takes longer to write a number

-- Most locks are free and nobody waits for them: this is for the others.
if redis.call('exists', lock, queue) > 0 or lease == '0' then
  -- #include holder.lua
  -- #include queue.lua

  local left = redis.call('pttl', lock)
  if left == -2 then
    -- Nobody overtakes those who wait: a lease that ran out goes to the first of them.
    if entry then
      enter(owner, entry)
    end
    if lease == '0' then
      return {0, ''}
    end
    local ms = redis.call('pttl', turn)
    if ms > 0 then
      return {ms, 'redisson'}
    end
    local holder, ms = handOff(0, owner)
    if holder and holder ~= owner then
      return {ms, holder}
    end
  else
    local holder, wrong = holderOf(lock, owner)
    if wrong then
      return wrong
    end
    if holder ~= owner then
      if entry then
        enter(owner, entry)
      end
      return {left, holder}
    end
    -- Checked before anything is written: a script that fails is not rolled back.
    local token = tonumber(redis.call('get', counter) or proposal)
    assert(token and token > 0, 'the fencing counter is no positive number')
    redis.call('set', counter, proposal, 'px', ttl, 'nx')
    redis.call('hset', lock, owner, '1')
    if left < tonumber(lease) and lease ~= '0' then -- or a lock that never expires would be gone
      redis.call('pexpire', lock, lease)
    end
    return token
  end
end

local token = proposal
local last = redis.call('get', counter)
if last then
  last = tonumber(last)
  assert(last, 'the fencing counter is no number')
  if last >= tonumber(proposal) then
    token = string.format('%.0f', last + 1)
  end
end
redis.call('set', counter, token, 'px', ttl)
redis.call('hset', lock, owner, '1')
redis.call('pexpire', lock, lease)
return token == proposal and 0 or tonumber(token)
