-- permit.lua: the slots of a semaphore, as far as nobody waits.
--
-- KEYS[-]  slots, a sorted set of the owners who have one. The score is the number of the slot,
--          from 0. That of "sum", which is below 0, stands for all owners: it is the same where
--          they are;
--          slots .. "ends", a sorted set of these owners. The score is when each loses its slot,
--          in us since 1970 by this master's clock; one whose end has come has none. Both keys
--          outlast the last of them, slots by a second and this one by two;
--          queue, see slots.lua;
--          counters, a hash: slot -> fencing counter
-- returns  now, in us since 1970; each function says what it returns
-- A part of the scripts of semaphores, which carry it inside. No script looks at all slots, but
-- those that inspect them and that free all by force.

-- #include fence.lua
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

-- count has the fencing counter of slot be token. The counters last an hour longer than lease, or
-- two: each of these commands costs as much as all the rest of a function.
local function count(counters, slot, token, lease)
  redis.call('hset', counters, slot, token)
  if redis.call('pttl', counters) < lease + fenceTTL then
    redis.call('pexpire', counters, lease + 2 * fenceTTL .. '')
  end
end

-- extend has owner lose its slot when lease is over, counted from now. alone says that nobody else has one.
local function extend(slots, owner, lease, alone)
  redis.call('zadd', slots .. 'ends', string.format('%.0f', now + lease * 1000), owner)
  if alone or redis.call('pttl', slots) < lease + 1000 then
    redis.call('pexpire', slots, lease + 1000 .. '')
    redis.call('pexpire', slots .. 'ends', lease + 2000 .. '')
  end
end

-- part returns what owner adds to the sum, with that sign.
local function part(owner, sign)
  return string.format('%.0f', -sign * (tonumber(string.sub(redis.sha1hex(owner), 1, 10), 16) + 1))
end

-- give has owner have slot, which nobody has, for lease from now. alone says that nobody has any.
local function give(slots, slot, owner, lease, alone)
  if alone then
    redis.call('zadd', slots, slot, owner, part(owner, 1), 'sum')
  else
    redis.call('zadd', slots, slot, owner)
    redis.call('zincrby', slots, part(owner, 1), 'sum')
  end
  extend(slots, owner, lease, alone)
end

-- subtract takes owner's part from the sum, which is 0 where there is no owner.
local function subtract(slots, owner)
  if tonumber(redis.call('zincrby', slots, part(owner, -1), 'sum')) == 0 then
    redis.call('del', slots)
  end
end

-- free takes from owner the slot that it has.
local function free(slots, owner)
  if redis.call('zcard', slots) == 2 then -- owner and the sum
    redis.call('del', slots, slots .. 'ends')
    return
  end
  redis.call('zrem', slots, owner)
  redis.call('zrem', slots .. 'ends', owner)
  subtract(slots, owner)
end

-- at returns who has slot, and until when.
local function at(slots, slot)
  local owner = redis.call('zrange', slots, slot, slot, 'byscore')[1]
  local stop = owner and tonumber(redis.call('zscore', slots .. 'ends', owner) or 0)
  if stop and stop > now then
    return owner, stop
  end
end

-- above returns the fencing token of whoever gets slot next: it is above the slot's counter and
-- above token, and the one proposed if that is so. It is as well where the counter is no token, see
-- fence.lua, whose error is returned behind it then.
local function above(counters, slot, proposal, token)
  local last = tonumber(redis.call('hget', counters, slot) or 0)
  assert(last, 'the fencing counter is no number')
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

