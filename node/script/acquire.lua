-- acquire.lua: take a lock, or wait for it.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:rN", or "uuid:kN" if its client keeps locks
-- ARGV[2]  lease, in ms; empty to wait only, and leave the lock even if it is free
-- ARGV[3]  proposal, the fencing token asked for
-- ARGV[4]  ask, see queue.lua; missing if owner does not wait in the queue
-- returns  0: owner has the lock, and its fencing counter is the token proposed;
--          the fencing counter, above 0: owner has the lock;
--          {ms left, holder}: another owner has it (-1 ms: it never expires), or readers,
--          "shared", or nobody: 0 ms and an empty string; behind these, if owner waits in the
--          queue, how many stand before it there;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called for an Acquire, AcquireOrRegister or Register command. A repeat changes nothing but the
-- expiry, which never shrinks.

-- #include fence.lua
local lock, owner, lease, proposal = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
-- #include names.lua
local queue, counter = 'redlock_wait:' .. name, 'redlock_fence:' .. name

if lease == '' or redis.call('exists', lock, queue) ~= 0 then
  -- #include holder.lua
  -- #include readers.lua
  -- #include queue.lua
  if lease == '' then
    lease = nil
  end

  local left = redis.call('pttl', lock)
  local holder, granted = '', false
  if left ~= -2 then
    local wrong
    holder, wrong = holderOf(owner)
    if wrong then
      return wrong
    end
    if holder == owner then
      -- Checked before anything is written: a script that fails is not rolled back.
      local token = tonumber(redis.call('get', counter) or proposal)
      if not token or token <= 0 then
        return redis.error_reply('ERR the fencing counter is no positive number')
      end
      if token >= fenceEnd then
        redis.call('set', counter, proposal, 'px', (lease or 0) + fenceTTL .. '')
        return redis.error_reply(beyond)
      end
      redis.call('set', counter, proposal, 'px', (lease or 0) + fenceTTL .. '', 'nx')
      redis.call('hset', lock, owner, '1')
      if lease and left < tonumber(lease) then -- or a lock that never expires would be gone
        redis.call('pexpire', lock, lease)
      end
      return token
    end
  end

  local ask = ARGV[4]
  if ask then
    enter(owner, proposal, ask)
  end
  if left == -2 and not lease then
    left = 0
  elseif left == -2 then
    left = redis.call('pttl', 'redlock_turn:' .. name)
    holder = 'redisson'
    if left <= 0 then
      -- Nobody overtakes those who wait: a lease that ran out goes to the first of them.
      holder, left = handOff(0, nil, owner)
      granted = not holder or holder == owner
      left = left or redis.call('pttl', lock)
    end
  end
  if not granted then
    wanted(holder)
    return {left, holder, ask and redis.call('zrank', queue, owner) or nil}
  end
end

local ttl = lease + fenceTTL .. '' -- Redis takes longer to write a number
local last = redis.call('set', counter, proposal, 'get', 'px', ttl)
-- A client that keeps the lock has a range of tokens, of which the counter is the last.
local token, more = 0, string.sub(owner, 37, 38) == ':k' and 999 or 0
if last then
  local number = tonumber(last)
  if not number then
    redis.call('set', counter, last, 'px', ttl) -- it is put back
    return redis.error_reply('ERR the fencing counter is no number')
  end
  if number + more + 1 >= fenceEnd then
    return redis.error_reply(beyond)
  end
  if number + more >= tonumber(proposal) then
    token = number + more + 1
    redis.call('set', counter, string.format('%.0f', token), 'px', ttl)
  end
end
redis.call('hset', lock, owner, '1')
redis.call('pexpire', lock, lease)
return token
