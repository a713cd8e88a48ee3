-- release.lua: give a lock back that somebody waits for or readers have, or give up waiting. If it
-- is free then, it is handed to the first in the queue; if readers still have it, to the readers
-- who are first there.
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

-- leave takes owner out of the queue, and returns whether it was there.
local function leave(queue, owner)
  return redis.call('zrem', queue, owner) == 1 and redis.call('del', queue .. owner)
end

-- Steps r and R come with what was found so far: freed, how many fields were deleted, and
-- there, how many keys there are now of the lock and the queue. Step l comes with there, 0 if there
-- is no queue.
function release(step, lock, queue, k, a, freed, there)
  local owner, token, next = args[a + 1], args[a + 2], nil
  local holder, wrong -- who has the lock after the deletion
  if step == 'f' then
    token = owner
    owner, wrong = holderOf(lock)
    if wrong then
      return wrong
    end
    local owners = {owner, redis.call('pttl', lock)} -- each with how long it would have had it
    if owner == 'shared' then
      owners = {}
      local all = redis.call('zrange', readers, 0, -1, 'withscores')
      for i = 1, #all, 2 do
        if tonumber(all[i + 1]) > now then
          owners[#owners + 1], owners[#owners + 2] = all[i], all[i + 1] - now
        end
      end
      redis.call('del', readers)
    end
    freed = owner and redis.call('del', lock)
    for i = 1, owner and #owners or 0, 2 do
      if owners[i + 1] > 0 then -- after the deletion, or a full master would refuse both
        redis.call('set', forcedKey(lock, owners[i]), 1, 'px', owners[i + 1])
      end
      leave(queue, owners[i])
    end
    owner = nil
  elseif step == 'l' or step == 'L' then
    next = step == 'L' and args[a + 3]
    holder, wrong = holderOf(lock, owner)
    if holder == owner then
      freed, holder = redis.call('hdel', lock, owner), nil
    elseif holder == 'shared' and reads(owner) then
      freed = redis.call('zrem', readers, owner)
      holder = settle(lock) and holder or nil
    end
  elseif step == 't' or step == 'T' then
    next = args[a + 3]
    freed = redis.call('hdel', lock, owner)
    holder, wrong = holderOf(lock, next)
  elseif type(freed) ~= 'number' or type(there) ~= 'number' then
    return type(freed) ~= 'number' and freed or there
  end

  local mine = freed == 1
  local answer = mine and 1 or -1
  -- Even if it had the lock: a renewal may have healed it while it waited. It leaves before next enters, or
  -- a full master would refuse both.
  local left = owner and step ~= 'r' and step ~= 't' and there ~= 0 and leave(queue, owner)
  if next and not wrong then
    if holder == 'shared' then
      needReaders(lock)
    end
    -- A repeat must not enter one that has it by now.
    if holder ~= next and not (holder == 'shared' and reads(next)) then
      enter(queue, next, unpack(args, a + 4, a + 7))
    end
  end
  if there == 2 then -- if it is the only one of the two, there is nobody to hand it to
    holder = left and holderOf(lock) or lock
  end
  if wrong then
    return mine and 1 or wrong
  end

  -- What is left at the lock key is not ours to hand off. Readers let in others, also when a
  -- writer before those gives up.
  local name = string.sub(queue, #'redlock_wait:' + 1)
  if holder and holder ~= 'shared' or
    not holder and not mine and redis.call('exists', 'redlock_turn:' .. name) == 1 then
    return answer
  end
  if token ~= '' and there ~= 0 then
    -- Redisson's clients cannot enter the queue. So if any of them wait, one hold in seven
    -- leaves the key free for a moment when it ends, and the first in the queue looks again
    -- afterwards. Tokens follow a clock, so seven: no usual step of clocks is a multiple of it.
    if not holder and mine and tonumber(token) % 7 == 0 then
      local first = redis.call('zrange', queue, 0, 0)[1]
      if first and notifyRedisson(lock) > 0 then
        redis.call('set', 'redlock_turn:' .. name, 1, 'px', 20)
        notify(lock, first, 0, 0)
        return answer
      end
    end
    local to = handOff(lock, 'redlock_fence:' .. name, queue, tonumber(token), holder)
    if to and to ~= '' then
      return answer
    end
  end
  if mine and not holder then
    notifyRedisson(lock)
  end
  return answer
end
