-- acquire.lua: take a lock that is not free, or wait for it.
--
-- KEYS[-]  lock queue counter, see queue.lua
-- ARGV[-]  owner, "uuid:rN";
--          lease, in ms; missing to wait only, and leave the lock even if it is free;
--          proposal, the fencing token asked for;
--          since, short and round, see queue.lua, if owner waits in the queue
-- returns  nil: owner is to be given the lock, see grant.lua;
--          the fencing counter, above 0: owner has the lock;
--          {ms left, holder}: another owner has it (-1 ms: it never expires), or readers,
--          "shared", or nobody: 0 ms and an empty string; behind these, if owner waits in the
--          queue, how many stand before it there;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by call.lua, for an Acquire, AcquireOrRegister or Register command. A repeat changes
-- nothing but the expiry, which never shrinks.

function acquire(step, lock, queue, k, a)
  local counter, owner = keys[k + 3], args[a + 1]
  local lease, proposal, since, short, round
  if step == 'q' then
    proposal, since, short, round = unpack(args, a + 2, a + 5)
  elseif step == 'a' then
    lease, proposal = args[a + 2], args[a + 3]
  else
    lease, proposal, since, short, round = unpack(args, a + 2, a + 6)
  end

  local left = redis.call('pttl', lock)
  local holder = ''
  if left ~= -2 then
    local wrong
    holder, wrong = holderOf(lock, owner)
    if wrong then
      return wrong
    end
    if holder == owner then
      -- Checked before anything is written: a step that fails is not rolled back.
      local token = tonumber(redis.call('get', counter) or proposal)
      assert(token and token > 0, 'ERR the fencing counter is no positive number')
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

  if since then
    enter(queue, owner, proposal, since, short, round)
  end
  if left == -2 and not lease then
    left = 0
  elseif left == -2 then
    left = redis.call('pttl', (string.gsub(queue, '^redlock_wait:', 'redlock_turn:')))
    holder = 'redisson'
    if left <= 0 then
      -- Nobody overtakes those who wait: a lease that ran out goes to the first of them.
      holder, left = handOff(lock, counter, queue, 0, nil, owner)
      if not holder or holder == owner then
        return nil
      end
      left = left or redis.call('pttl', lock)
    end
  end
  return {left, holder, since and redis.call('zrank', queue, owner) or nil}
end
