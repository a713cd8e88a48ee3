-- slots.lua: who has the slots of a semaphore, and who waits for one.
--
-- KEYS[-]  slots and counters, see permit.lua;
--          queue, a sorted set of owners. The score is when the owner began to wait, in us;
--          queue .. owner, for each of them: "round short proposal permits start", its last
--          ask, see queue.lua. It takes the first free slot below permits, counted from start
-- returns  each function says what it returns
-- Called by acquireslot.lua, releaseslot.lua, healslot.lua and inspectslots.lua. A part of
-- permit.lua, which carries it inside.

-- look reads who has which slot.
function look(slots)
  owners, ends, has = {}, {}, {}
  local all = redis.call('hgetall', slots)
  for i = 1, #all, 2 do
    local slot = tonumber(all[i])
    local owner, stop = string.match(all[i + 1], '^(%S+) (%S+)$')
    stop = tonumber(stop)
    if not slot or not stop then
      error(redis.error_reply('NOTLOCK hash ' .. #all / 2))
    end
    if stop > now then
      owners[slot], ends[slot], has[owner] = owner, stop, slot
    end
  end
end

-- firstFree returns the first free slot below permits, counted from start; nil if there is
-- none.
function firstFree(permits, start)
  for i = 0, permits - 1 do
    local slot = (start + i) % permits
    if not owners[slot] then
      return slot
    end
  end
end

-- enterSlot puts owner into the queue, or notes its next round.
function enterSlot(queue, owner, proposal, permits, start, since, short, round)
  redis.call('zadd', queue, since, owner)
  local ask = round .. ' ' .. short .. ' ' .. proposal .. ' ' .. permits .. ' ' .. start
  redis.call('set', queue .. owner, ask, 'px', short)
  redis.call('pexpire', queue, '10000')
end

-- forcedSlot returns the key of the mark that owner's slot was taken by force, see forced.lua.
function forcedSlot(slots, owner)
  return 'redlock_forced:' .. string.sub(slots, #'redlock_slots:' + 1) .. owner
end

-- leave takes owner out of the queue.
function leave(queue, owner)
  if redis.call('zrem', queue, owner) == 1 then
    redis.call('del', queue .. owner)
  end
end

-- pump hands the slots that are free to those who wait, whose last ask is not stale, who can be
-- notified and who have none yet, with a fencing token above token. Others leave the queue.
--
-- It is tempting to serve them in their order alone. But where two slots become free at a time, each
-- master hears of it in its own order: the first who waits would be handed one slot here and the
-- other one there, and such votes do not add up. So of the first in the queue, as many as there are
-- permits, each is handed the slot that it wants first, if it began to wait at most 50 ms after the
-- first of all: or one whose slot nobody gives back could be overtaken forever. What is left then
-- goes to the first of all. It ends with the first who finds none.
--
-- me, who reads the answer of this step, needs no message. It ends with me, who leaves the queue
-- and may have the slot that pump returns; and it goes on past those who want fewer permits than
-- there are, and so find none, or they would keep me from one that is of no use to them. It looks
-- at so many of the queue as do not hold up the master. Who stands behind them asks again.
function pump(slots, queue, counters, token, me)
  local waiting = redis.call('zrange', queue, 0, 31, 'withscores')
  local first -- when the first began to wait
  for pass = me and 2 or 1, 2 do
    for i = 1, #waiting, 2 do
      local owner, since = waiting[i], tonumber(waiting[i + 1])
      local ask = owner and redis.call('get', queue .. owner) or ''
      local round, short, proposal, permits, start = string.match(ask, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
      local slot
      if has[owner] then
        round = nil
      end
      if round and pass == 2 then
        slot = firstFree(permits, start)
      elseif round and (i > 2 * permits or since > (first or since) + 50000) then
        break
      elseif round then
        first = first or since
        slot = not owners[tonumber(start)] and tonumber(start)
      end
      if owner and (slot or not round) then
        leave(queue, owner)
        waiting[i] = false
      end
      if pass == 2 and round and (owner == me or not slot and not me) then
        return slot
      end
      if slot then
        local next = above(counters, slot, proposal, token)
        -- A name with a brace stands in its keys as it is, with a colon behind it.
        local name = string.match(slots, '^redlock_slots:{(.*)}$')
          or string.match(slots, '^redlock_slots:(.*):$')
        if redis.call('publish', 'redlock_wake:' .. (string.match(owner, '^(.*):') or ''),
          owner .. ' ' .. round .. ' ' .. next .. ':' .. slot .. ' ' .. name) > 0 then
          count(counters, slot, next, short)
          put(slots, slot, owner, short)
          owners[slot], has[owner] = owner, slot
          ends[slot] = now + short
        end
      end
    end
  end
end
