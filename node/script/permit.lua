-- permit.lua: carry out a step of a semaphore.
--
-- KEYS[-]  slots, a hash: slot -> "owner end". Slots count from 0. end is when the owner loses
--          the slot, in ms since 1970 by this master's clock; a slot whose end has come is
--          free. The key lasts as long as the last of them;
--          queue, see slots.lua;
--          counters, a hash: slot -> fencing counter
-- ARGV[-]  as call.lua has them
-- returns  the answer to the step; NOTLOCK, an error: slots holds something else
-- Called by call.lua. What is needed while nobody waits, and of a slot that its owner has, is
-- done here. What the other steps need is made when the first of them comes.

local now -- in ms since 1970, with a fraction
local owners, ends -- by slot, of those that are taken
local has -- by owner: its slot
local look, firstFree, leave, enterSlot, pump, forcedSlot

-- count has the fencing counter of slot be token. The counters last an hour longer than lease, or
-- two: each of these commands costs as much as all the rest of a function.
local function count(counters, slot, token, lease)
  redis.call('hset', counters, slot, token)
  if redis.call('pttl', counters) < lease + fenceTTL then
    redis.call('pexpire', counters, lease + 2 * fenceTTL .. '')
  end
end

-- put has owner have slot for lease from now.
local function put(slots, slot, owner, lease)
  redis.call('hset', slots, slot, owner .. ' ' .. now + lease)
  if redis.call('pttl', slots) < tonumber(lease) then
    redis.call('pexpire', slots, lease)
  end
end

-- at returns who has slot, and until when.
local function at(slots, slot)
  local owner, stop = string.match(redis.call('hget', slots, slot) or '', '^(%S+) (%S+)$')
  stop = tonumber(stop)
  if stop and stop > now then
    return owner, stop
  end
end

-- above returns the fencing token of whoever gets slot next: it is above the slot's counter and
-- above token, and the one proposed if that is so.
local function above(counters, slot, proposal, token)
  local last = tonumber(redis.call('hget', counters, slot) or 0)
  assert(last, 'ERR the fencing counter is no number')
  last = math.max(last, token)
  return last < tonumber(proposal) and proposal or string.format('%.0f', last + 1)
end

-- recount raises the counter of slot to token. One that is no number is left alone:
-- acquireslot.lua reports it.
local function recount(counters, slot, token, lease)
  local last = redis.call('hget', counters, slot) or token
  local number = tonumber(last)
  count(counters, slot, number and number < tonumber(token) and token or last, lease)
end

function permit(step, slots, queue, counters, a)
  local time, owner = redis.call('time'), args[a + 1]
  now = time[1] * 1000 + time[2] / 1000

  if step == 'p' or step == 'P' then
    if redis.call('exists', slots, queue) == 0 then
      local lease, proposal, slot = args[a + 2], args[a + 3], args[a + 5]
      local token = above(counters, slot, proposal, 0)
      count(counters, slot, token, lease)
      redis.call('hset', slots, slot, owner .. ' ' .. now + lease)
      redis.call('pexpire', slots, lease)
      return token == proposal and tonumber(slot) or {tonumber(slot), tonumber(token)}
    end
  elseif step == 'd' or step == 'D' then
    local slot = args[a + 3]
    if at(slots, slot) == owner and redis.call('exists', queue) == 0 then
      return redis.call('hdel', slots, slot)
    end
  elseif step == 'm' or step == 'M' then
    -- #include renewslot.lua
  elseif step == 'u' then
    -- #include raiseslot.lua
  end

  if not look then
    -- #include slots.lua
  end
  look(slots)
  local run
  if step == 'm' or step == 'M' then
    -- #include healslot.lua
  elseif step == 'p' or step == 'P' or step == 'k' then
    -- #include acquireslot.lua
  elseif step == 's' then
    -- #include inspectslots.lua
  else
    -- #include releaseslot.lua
  end
  return run(step, slots, queue, counters, a)
end
