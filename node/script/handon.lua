-- handon.lua: hand on a lock that was given back.
--
-- KEYS[-]  lock and queue, see queue.lua
-- returns  each function says what it returns
-- A part of release.lua and force.lua, which carry it inside, behind freed.lua.

-- #include holder.lua
-- #include readers.lua
local counter = 'redlock_fence:' .. name
-- #include fence.lua
-- #include queue.lua

-- leave takes owner out of the queue.
local function leave(owner)
  if redis.call('zrem', queue, owner) == 1 then
    redis.call('del', queue .. owner)
  end
end

-- handOn hands the lock on unless holder, who has it now, is a writer. Readers let in others when a writer that
-- stood before those gives up. token is that of the owner who gave the lock back, empty to hand it to nobody;
-- mine says that this owner had it, and waits that somebody may wait. handOn returns the answer of the script.
local function handOn(holder, token, mine, waits)
  local answer = mine and 1 or 0
  if holder and holder ~= 'shared' then
    return answer
  elseif not holder and not mine then
    local left = redis.call('pttl', 'redlock_turn:' .. name)
    if left > 0 and left <= TURN_LASTS then
      return answer
    end
  end
  if token ~= '' and waits then
    -- Redisson's clients cannot enter the queue. So if any of them wait, one hold in seven
    -- leaves the key free for a moment when it ends, and the first in the queue looks again
    -- afterwards. Tokens follow a clock, so seven: no usual step of clocks is a multiple of it.
    if not holder and mine and not slot and tonumber(token) % 7 == 0 then
      local first = redis.call('zrange', queue, 0, 0)[1]
      if first and redis.call('publish', freed, '0') > 0 then
        redis.call('set', 'redlock_turn:' .. name, 1, 'px', TURN_LASTS)
        notify(first, 0, 0)
        return answer
      end
    end
    local to = handOff(tonumber(token), holder)
    if to and to ~= '' then
      return answer
    end
  end
  if mine and not holder then
    redis.call('publish', freed, note)
  end
  return answer
end
