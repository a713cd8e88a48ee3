-- slots.lua: which slots of a semaphore are free, and who waits for one.
--
-- KEYS[-]  slots and counters, see permit.lua;
--          queue, a sorted set of numbers: how many permits there are, as those say who wait;
--          queue .. permits, for each of them: a sorted set of the owners who say so. The score
--          is when the owner began to wait, in us;
--          queue .. owner, for each of these: "round short proposal permits start", its last
--          ask, see queue.lua. It takes the first free slot below permits, counted from start
-- returns  each function says what it returns
-- A part of the scripts of semaphores, which carry it inside, behind permit.lua.

-- look frees the slots whose end has come. It returns an error if the key is no semaphore.
local function look(slots)
  local ends = slots .. 'ends'
  for _, owner in ipairs(redis.call('zrange', ends, '-inf', string.format('%.0f', now), 'byscore')) do
    redis.call('zrem', ends, owner)
    if redis.call('zrem', slots, owner) == 1 then
      subtract(slots, owner)
    end
  end
  local members, there = redis.call('zcard', slots), redis.call('zcard', ends)
  if members == 0 and there > 0 then
    redis.call('del', ends) -- somebody has deleted the slots
  elseif members ~= there + (there > 0 and 1 or 0) then
    return redis.error_reply('NOTLOCK zset ' .. members)
  end
end

-- takenIn returns how many slots are taken, of those from first to last.
local function takenIn(slots, first, last)
  return redis.call('zcount', slots, first, last)
end

-- firstFreeIn returns the first slot from first to last that is free, nil if there is none: where
-- fewer are taken than there are, the first half has a free one, or the second.
local function firstFreeIn(slots, first, last)
  if takenIn(slots, first, last) > last - first then
    return nil
  end
  while first < last do
    local middle = math.floor((first + last) / 2)
    if takenIn(slots, first, middle) > middle - first then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

-- firstFree returns the first free slot below permits, counted from start; nil if there is
-- none.
local function firstFree(slots, permits, start)
  permits, start = tonumber(permits), tonumber(start)
  if takenIn(slots, start, start) == 0 then
    return start
  end
  return firstFreeIn(slots, start, permits - 1) or firstFreeIn(slots, 0, start - 1)
end

-- has returns the slot that owner has, nil if none.
local function has(slots, owner)
  return tonumber(redis.call('zscore', slots, owner) or '')
end

-- enterSlot puts owner into the queue, or notes its next round: see enter in queue.lua.
local function enterSlot(queue, owner, proposal, permits, start, ask)
  local round, short, ago = string.match(ask, '^(%S+) (%S+) (%S+)$')
  redis.call('zadd', queue .. permits, string.format('%.0f', proposal - ago), owner)
  redis.call('set', queue .. owner, round .. ' ' .. short .. ' ' .. proposal .. ' ' .. permits .. ' ' .. start, 'px', short)
  redis.call('zadd', queue, permits, permits)
  redis.call('pexpire', queue, '10000')
  for _, number in ipairs(redis.call('zrange', queue, 0, -1)) do
    redis.call('pexpire', queue .. number, '10000')
  end
end

-- forcedSlot returns the key of the mark that owner's slot was taken by force, see forced.lua.
local function forcedSlot(slots, owner)
  return 'redlock_forced:' .. string.sub(slots, #'redlock_slots:' + 1) .. owner
end

-- leave takes owner out of the queue. permits is how many it says there are; nil: any number.
local function leave(queue, owner, permits)
  for _, number in ipairs(permits and {permits} or redis.call('zrange', queue, 0, -1)) do
    if redis.call('zrem', queue .. number, owner) == 1 then
      redis.call('del', queue .. owner)
      if redis.call('exists', queue .. number) == 0 then
        redis.call('zrem', queue, number)
      end
    end
  end
end

-- pump hands the slots that are free to those who wait, whose last ask is not stale, who can be
-- notified, or poll, and who have none yet, with a fencing token above token. Others leave the queue.
--
-- It is tempting to serve them in their order alone. But where two slots become free at a time, each
-- master hears of it in its own order: the first who waits would be handed one slot here and the
-- other one there, and such votes do not add up. So of the first in the queue, as many as there are
-- permits, each is handed the slot that it wants first, if it began to wait at most 50 ms after the
-- first of all: or one whose slot nobody gives back could be overtaken forever. What is left then
-- goes to the first of all who knows of so many. Who says that there are fewer is in nobody's way,
-- however many say so: all who say the same are looked at together.
--
-- me reads the answer of this script, so it needs no message. pump stops at me, takes it out of the
-- queue, and returns the slot that it may have. It looks at so many of the queue as do not hold up the
-- master. Who stands behind them asks again.
local function pump(slots, queue, counters, token, me)
  local numbers, waiting, top = redis.call('zrange', queue, 0, -1), {}, 0
  for _, permits in ipairs(numbers) do
    permits = tonumber(permits)
    top = math.max(top, permits)
    local line = redis.call('zrange', queue .. permits, 0, math.ceil(32 / #numbers) - 1, 'withscores')
    for i = 1, #line, 2 do
      waiting[#waiting + 1] = {owner = line[i], since = tonumber(line[i + 1]), place = (i + 1) / 2, line = permits}
    end
  end
  local spare = top - takenIn(slots, 0, top - 1)
  if spare == 0 or not waiting[1] then
    return
  end
  if numbers[2] then
    table.sort(waiting, function(x, y)
      return x.since < y.since or x.since == y.since and x.owner < y.owner
    end)
  end
  local owners, asks = {}, {}
  for i, w in ipairs(waiting) do
    owners[i], asks[i] = w.owner, queue .. w.owner
  end
  asks, owners = redis.call('mget', unpack(asks)), redis.call('zmscore', slots, unpack(owners))

  local first -- when the first began to wait
  local none = 0 -- who says that there are so many, or fewer, finds no slot
  local deaf = 0 -- who could not be notified
  for pass = me and 2 or 1, 2 do
    for i, w in ipairs(waiting) do
      if spare == 0 or none >= top or deaf == 8 then
        return
      end
      local owner = w.owner
      local ask = owner and not owners[i] and asks[i] or ''
      local round, polls, short, proposal, permits, start =
        string.match(ask, '^(%d+)(p?) (%d+) (%d+) (%d+) (%d+)$')
      local slot
      if round and pass == 1 then
        first = first or w.since
        if w.since > first + 50000 then
          break
        end
        slot = w.place <= w.line and takenIn(slots, start, start) == 0 and tonumber(start)
      elseif round and w.line > none then
        slot = firstFree(slots, permits, start)
        none = slot and none or w.line
      end
      if owner and (slot or not round) then
        leave(queue, owner, w.line)
        w.owner = false
      end
      if owner == me and round then
        return slot
      end
      if slot then
        local next = above(counters, slot, proposal, token)
        -- A name with a brace stands in its keys as it is, with a colon behind it.
        local name = string.match(slots, '^redlock_slots:{(.*)}$')
          or string.match(slots, '^redlock_slots:(.*):$')
        if redis.call('publish', 'redlock_wake:' .. (string.match(owner, '^(.*):') or ''),
          owner .. ' ' .. round .. ' ' .. next .. ':' .. slot .. ' ' .. name) > 0 or polls == 'p' then
          count(counters, slot, next, short)
          give(slots, slot, owner, short)
          spare = spare - 1
        else
          deaf = deaf + 1
        end
      end
    end
  end
end
