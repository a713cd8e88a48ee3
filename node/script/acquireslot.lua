-- acquireslot.lua: take a slot of a semaphore, or wait for one.
--
-- KEYS[1]  slots, see permit.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease, in ms; empty to wait only, and leave what is free
-- ARGV[3]  proposal, the fencing token asked for
-- ARGV[4]  permits, how many slots there are
-- ARGV[5]  start, the slot to be tried first
-- ARGV[6]  ask, see queue.lua; missing if owner does not wait in the queue
-- returns  slot: owner has it, and its fencing counter is the token proposed;
--          {slot, counter}: owner has the slot, whose fencing counter is above 0;
--          {ms left, holder}: no slot is free. holder stands for all owners: it is the same
--          where the same have slots. The first of these ends so soon. If owner only waits, or
--          has not been looked at yet, and a slot is free: 0 ms and an empty string. Behind
--          these, if owner waits in the queue, how many of those who say that there are so many
--          permits stand before it there
-- Called for an Acquire, AcquireOrRegister or Register command of a Permit. An owner has one slot at
-- most. A repeat changes nothing but the expiry, which never shrinks.

local slots, owner, lease, proposal, permits, start = KEYS[1], unpack(ARGV, 1, 5)
-- #include slotnames.lua
-- #include permit.lua
if lease == '' then
  lease = nil
elseif redis.call('exists', slots, slots .. 'ends', queue) == 0 then
  local token, wrong = above(counters, start, proposal, 0)
  count(counters, start, token, lease)
  if wrong then
    return wrong
  end
  give(slots, start, owner, lease, true)
  return token == proposal and tonumber(start) or {tonumber(start), tonumber(token)}
end

-- #include slots.lua
local wrong = look(slots)
if wrong then
  return wrong
end
local ask = ARGV[6]
local slot = has(slots, owner)
if slot then
  local last = redis.call('hget', counters, slot)
  local token = tonumber(last or proposal)
  if not token or token <= 0 then
    return redis.error_reply('ERR the fencing counter is no positive number')
  end
  if token >= fenceEnd then
    count(counters, slot, proposal, lease or 0)
    return redis.error_reply(beyond)
  end
  if not last then
    count(counters, slot, proposal, lease or 0)
  end
  if lease and tonumber(redis.call('zscore', slots .. 'ends', owner)) < now + lease * 1000 then
    extend(slots, owner, lease)
  end
  return {slot, token}
end

local any = firstFree(slots, permits, start)
slot = lease and any
if not slot or redis.call('exists', queue) == 1 then
  if ask then
    enterSlot(queue, owner, proposal, permits, start, ask)
  end
  if slot then
    -- Nobody overtakes those who wait.
    slot = pump(slots, queue, counters, 0, owner)
    any = slot or firstFree(slots, permits, start)
    slot = slot or not ask and any
  end
end
if slot then
  local token, wrong = above(counters, slot, proposal, 0)
  count(counters, slot, token, lease)
  if wrong then
    return wrong
  end
  give(slots, slot, owner, lease)
  return token == proposal and slot or {slot, tonumber(token)}
end

local left, holder = 0, ''
if not any then
  left = math.ceil((redis.call('zrange', slots .. 'ends', 0, 0, 'withscores')[2] - now) / 1000)
  holder = redis.call('zscore', slots, 'sum')
end
return {left, holder, ask and redis.call('zrank', queue .. permits, owner) or nil}
