-- release.lua: give a lock back that somebody waits for, or give up waiting. If it is free
-- then, it is handed to the first in the queue.
--
-- KEYS[-]  lock queue, see queue.lua
-- ARGV[-]  owner, "uuid:rN"; missing to release whoever has the lock, by force;
--          token: owner's fencing token, or the one it proposed; empty to hand the lock to
--          nobody, as a guarded master must;
--          next, if owner's client goes on waiting: who enters the queue, with proposal,
--          since, short and round, see queue.lua
-- returns  1 freed, -1 not held by owner;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- If the hash has become something else than a lock, only the owner's field is deleted. Who
-- never waited is not looked for in the queue.
-- Called by call.lua, for a Release, Yield, ReleaseTo, YieldTo or Force command. A repeat
-- changes nothing, but hands off a lock that has become free since; a Force is not repeated.

-- notifyRedisson says that the lock is free, on the channel that Redisson's waiters subscribe
-- to, and returns how many received it.
local function notifyRedisson(lock)
  local name = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
  return redis.call('publish', 'redisson_lock__channel:' .. name, '0')
end

-- Steps r and R come with what was found so far: freed, how many fields were deleted, and
-- there, how many keys there are now of the lock and the queue.
function release(step, lock, queue, k, a, freed, there)
  local owner, token, next = args[a + 1], args[a + 2], nil
  local taken, holder, wrong -- what is there after the deletion
  if step == 'f' then
    token = owner
    owner, wrong = holderOf(lock)
    if wrong then
      return wrong
    end
    local left = redis.call('pttl', lock)
    freed = owner and redis.call('hdel', lock, owner)
    if left > 0 then -- after the deletion, or a full master would refuse both
      redis.call('set', forcedKey(lock, owner), 1, 'px', left)
    end
    taken = redis.call('exists', lock) == 1
  elseif step == 't' or step == 'T' then
    next = args[a + 3]
    freed = redis.call('hdel', lock, owner)
    taken = redis.call('exists', lock) == 1
    if taken then
      holder, wrong = holderOf(lock, next)
    end
  elseif type(freed) ~= 'number' or type(there) ~= 'number' then
    return type(freed) ~= 'number' and freed or there
  else
    taken = there == 2 -- if it is the only one of the two, there is nobody to hand it to
  end

  local mine = freed == 1
  local answer = mine and 1 or -1
  if next and not wrong and holder ~= next then -- a repeat must not enter one that has it by now
    enter(queue, next, unpack(args, a + 4, a + 7))
  end
  -- Even if it had the lock: a renewal may have healed it while it waited.
  if owner and step ~= 'r' and step ~= 't' and redis.call('zrem', queue, owner) == 1 then
    redis.call('del', queue .. owner)
  end
  if wrong then
    return mine and 1 or wrong
  end

  -- What is left at the lock key is not ours to hand off.
  local name = string.sub(queue, #'redlock_wait:' + 1)
  if taken or not mine and redis.call('exists', 'redlock_turn:' .. name) == 1 then
    return answer
  end
  if token ~= '' then
    -- Redisson's clients cannot enter the queue. So if any of them wait, one hold in seven
    -- leaves the key free for a moment when it ends, and the first in the queue looks again
    -- afterwards. Tokens follow a clock, so seven: no usual step of clocks is a multiple of it.
    if mine and tonumber(token) % 7 == 0 then
      local first = redis.call('zrange', queue, 0, 0)[1]
      if first and notifyRedisson(lock) > 0 then
        redis.call('set', 'redlock_turn:' .. name, 1, 'px', 20)
        notify(lock, first, 0, 0)
        return answer
      end
    end
    if handOff(lock, 'redlock_fence:' .. name, queue, tonumber(token)) then
      return answer
    end
  end
  if mine then
    notifyRedisson(lock)
  end
  return answer
end
