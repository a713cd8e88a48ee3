-- acquireslot.lua: take a slot of a semaphore, or wait for one.
--
-- KEYS[-]  slots queue counters, see permit.lua and slots.lua
-- ARGV[-]  owner, "uuid:rN";
--          lease, in ms; missing to wait only, and leave what is free;
--          proposal, the fencing token asked for;
--          permits, how many slots there are, and start, the one to be tried first;
--          since, short and round, see queue.lua, if owner waits in the queue
-- returns  slot: owner has it, and its fencing counter is the token proposed;
--          {slot, counter}: owner has the slot, whose fencing counter is above 0;
--          {ms left, holder}: no slot is free. holder stands for all owners: it is the same
--          where the same have slots. The first of these ends so soon. If owner only waits, or
--          has not been looked at yet, and a slot is free: 0 ms and an empty string. Behind
--          these, if owner waits in the queue, how many of those who say that there are so many
--          permits stand before it there
-- Called by permit.lua, for an Acquire, AcquireOrRegister or Register command. An owner has one
-- slot at most. A repeat changes nothing but the expiry, which never shrinks.

function run(step, slots, queue, counters, a)
  local owner, waits, lease = args[a + 1], step ~= 'p', nil
  if step ~= 'k' then
    lease = args[a + 2]
    a = a + 1
  end
  local proposal, permits, start = args[a + 2], args[a + 3], args[a + 4]

  local slot = has(slots, owner)
  if slot then
    local last = redis.call('hget', counters, slot)
    local token = tonumber(last or proposal)
    assert(token and token > 0, 'ERR the fencing counter is no positive number')
    if token >= fenceEnd then
      count(counters, slot, proposal, lease or 0)
      return redis.error_reply(beyond)
    end
    if not last then
      count(counters, slot, proposal, lease or 0)
    end
    if lease and tonumber(redis.call('zscore', ends, owner)) < now + lease * 1000 then
      extend(slots, owner, lease)
    end
    return {slot, token}
  end

  local any = firstFree(slots, permits, start)
  slot = lease and any
  if not slot or redis.call('exists', queue) == 1 then
    if waits then
      enterSlot(queue, owner, unpack(args, a + 2, a + 7))
    end
    if slot then
      -- Nobody overtakes those who wait.
      slot = pump(slots, queue, counters, 0, owner)
      any = slot or firstFree(slots, permits, start)
      slot = slot or not waits and any
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
    left = math.ceil((redis.call('zrange', ends, 0, 0, 'withscores')[2] - now) / 1000)
    holder = redis.call('zscore', slots, 'sum')
  end
  return {left, holder, waits and redis.call('zrank', queue .. permits, owner) or nil}
end
