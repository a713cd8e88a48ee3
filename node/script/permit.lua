-- permit.lua: carry out a step of a semaphore.
--
-- KEYS[-]  slots, a sorted set of the owners who have one. The score is the number of the slot,
--          from 0. That of "sum", which is below 0, stands for all owners: it is the same where
--          they are;
--          slots .. "ends", a sorted set of these owners. The score is when each loses its slot,
--          in us since 1970 by this master's clock; one whose end has come has none. Both keys
--          outlast the last of them, slots by a second and this one by two;
--          queue, see slots.lua;
--          counters, a hash: slot -> fencing counter
-- ARGV[-]  as call.lua has them
-- returns  the answer to the step; NOTLOCK, an error: slots holds something else
-- Called by call.lua. What is needed while nobody waits, and of a slot that its owner has, is
-- done here. What the other steps need is made when the first of them comes. No step looks at all
-- slots, but those that inspect them and that free all by force.

local now -- in us since 1970
local ends -- the key
local look, firstFree, has, leave, enterSlot, pump, forcedSlot

-- count has the fencing counter of slot be token. The counters last an hour longer than lease, or
-- two: each of these commands costs as much as all the rest of a function.
local function count(counters, slot, token, lease)
  redis.call('hset', counters, slot, token)
  if redis.call('pttl', counters) < lease + fenceTTL then
    redis.call('pexpire', counters, lease + 2 * fenceTTL .. '')
  end
end

-- extend has owner lose its slot when lease is over, counted from now.
local function extend(slots, owner, lease)
  redis.call('zadd', ends, string.format('%.0f', now + lease * 1000), owner)
  if redis.call('pttl', slots) < lease + 1000 then
    redis.call('pexpire', slots, lease + 1000 .. '')
    redis.call('pexpire', ends, lease + 2000 .. '')
  end
end

-- add adds owner to the sum, or takes it away. The sum is 0 where there is no owner.
local function add(slots, owner, sign)
  local part = sign * (tonumber(string.sub(redis.sha1hex(owner), 1, 10), 16) + 1)
  local sum = redis.call('zincrby', slots, string.format('%.0f', -part), 'sum')
  if tonumber(sum) == 0 then
    redis.call('del', slots)
  end
end

-- give has owner have slot, which nobody has, for lease from now.
local function give(slots, slot, owner, lease)
  redis.call('zadd', slots, slot, owner)
  add(slots, owner, 1)
  extend(slots, owner, lease)
end

-- free takes from owner the slot that it has.
local function free(slots, owner)
  redis.call('zrem', slots, owner)
  redis.call('zrem', ends, owner)
  add(slots, owner, -1)
end

-- at returns who has slot, and until when.
local function at(slots, slot)
  local owner = redis.call('zrange', slots, slot, slot, 'byscore')[1]
  local stop = owner and tonumber(redis.call('zscore', ends, owner) or 0)
  if stop and stop > now then
    return owner, stop
  end
end

-- above returns the fencing token of whoever gets slot next: it is above the slot's counter and
-- above token, and the one proposed if that is so. It is as well where the counter is no token, see
-- fence.lua, whose error is returned behind it then.
local function above(counters, slot, proposal, token)
  local last = tonumber(redis.call('hget', counters, slot) or 0)
  assert(last, 'ERR the fencing counter is no number')
  last = math.max(last, token)
  if last + 1 >= fenceEnd then
    return proposal, redis.error_reply(beyond)
  end
  return last < tonumber(proposal) and proposal or string.format('%.0f', last + 1)
end

-- recount raises the counter of slot to token. One that is no number is left alone:
-- acquireslot.lua reports it.
local function recount(counters, slot, token, lease)
  local last = redis.call('hget', counters, slot) or token
  local number = tonumber(last)
  local lower = number and (number < tonumber(token) or number >= fenceEnd)
  count(counters, slot, lower and token or last, lease)
end

function permit(step, slots, queue, counters, a)
  local time, owner = redis.call('time'), args[a + 1]
  now, ends = time[1] * 1000000 + time[2], slots .. 'ends'

  if step == 'p' or step == 'P' then
    if redis.call('exists', slots, ends, queue) == 0 then
      local lease, proposal, slot = args[a + 2], args[a + 3], args[a + 5]
      local token, wrong = above(counters, slot, proposal, 0)
      count(counters, slot, token, lease)
      if wrong then
        return wrong
      end
      give(slots, slot, owner, lease)
      return token == proposal and tonumber(slot) or {tonumber(slot), tonumber(token)}
    end
  elseif step == 'd' or step == 'D' then
    local slot = args[a + 3]
    if redis.call('exists', queue) == 0 and at(slots, slot) == owner then
      free(slots, owner)
      return 1
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
