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
--          where the same have the slots. The first of these ends so soon. If owner only
--          waits and a slot is free: 0 ms and an empty string. Behind these, if owner waits
--          in the queue, how many stand before it there
-- Called by permit.lua, for an Acquire, AcquireOrRegister or Register command. An owner has one
-- slot at most. A repeat changes nothing but the expiry, which never shrinks.

function run(step, slots, queue, counters, a)
  local owner, waits, lease = args[a + 1], step ~= 'p', nil
  if step ~= 'k' then
    lease = args[a + 2]
    a = a + 1
  end
  local proposal, permits, start = args[a + 2], args[a + 3], args[a + 4]

  local slot = has[owner]
  if slot then
    local last = redis.call('hget', counters, slot)
    local token = tonumber(last or proposal)
    assert(token and token > 0, 'ERR the fencing counter is no positive number')
    if not last then
      count(counters, slot, proposal, lease or 0)
    end
    if lease and ends[slot] < now + lease then
      put(slots, slot, owner, lease)
    end
    return {slot, token}
  end

  slot = lease and firstFree(permits, start)
  if not slot or redis.call('exists', queue) == 1 then
    if waits then
      enterSlot(queue, owner, unpack(args, a + 2, a + 7))
    end
    if slot then
      -- Nobody overtakes those who wait.
      slot = pump(slots, queue, counters, 0, owner)
      if not waits and not slot then
        slot = firstFree(permits, start)
      end
    end
  end
  if slot then
    local token = above(counters, slot, proposal, 0)
    count(counters, slot, token, lease)
    put(slots, slot, owner, lease)
    return token == proposal and slot or {slot, tonumber(token)}
  end

  local there, first, holder = {}, now, ''
  for i = 0, permits - 1 do
    if owners[i] then
      first = #there == 0 and ends[i] or math.min(first, ends[i])
      there[#there + 1] = owners[i]
    end
  end
  if not lease and firstFree(permits, start) then
    first = now
  elseif #there > 0 then
    table.sort(there)
    holder = redis.sha1hex(table.concat(there, ' '))
  end
  return {math.ceil(first - now), holder, waits and redis.call('zrank', queue, owner) or nil}
end
