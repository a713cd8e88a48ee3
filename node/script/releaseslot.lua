-- releaseslot.lua: give a slot back that somebody may wait for, or give up waiting. What is
-- free then is handed to those in the queue.
--
-- KEYS[-]  slots queue counters, see permit.lua and slots.lua
-- ARGV[-]  owner, "uuid:rN"; missing to release all slots, by force;
--          token: owner's fencing token, or the one it proposed; empty to hand off nothing, as
--          a guarded master must;
--          slot, which owner has, unless it has another one;
--          next, if owner's client goes on waiting: who enters the queue, with proposal,
--          permits, start, since, short and round, see slots.lua
-- returns  1 freed, -1 not held by owner
-- Who never waited is not looked for in the queue.
-- Called by permit.lua, for a Release, Yield, ReleaseTo, YieldTo or ForcePermits command. A
-- repeat changes nothing, but hands off a slot that has become free since; a force is not
-- repeated.

function run(step, slots, queue, counters, a)
  local owner, token, next = args[a + 1], args[a + 2], args[a + 4]
  local answer = -1
  if step == 'x' then
    token = owner
    redis.call('del', slots)
    -- After the deletion, or a full master would refuse both. See forced.lua.
    for slot, who in pairs(owners) do
      answer = 1
      local left = math.ceil(ends[slot] - now)
      redis.call('set', forcedSlot(slots, who), '1', 'px', left)
    end
    owners, has = {}, {}
  else
    local slot = has[owner]
    if slot then
      answer = 1
      redis.call('hdel', slots, slot)
      owners[slot], has[owner] = nil, nil
    end
    if step ~= 'd' and step ~= 'g' then
      leave(queue, owner)
    end
    -- A repeat must not enter one that has a slot by now.
    if (step == 'g' or step == 'G') and not has[next] then
      enterSlot(queue, next, unpack(args, a + 5, a + 10))
    end
  end
  if token ~= '' then
    pump(slots, queue, counters, tonumber(token))
  end
  -- Who gives way to others does not get back here what it gave: of several that share the slots
  -- of all masters, each would have what it had before, forever.
  if step == 'v' and not has[next] then
    enterSlot(queue, next, unpack(args, a + 5, a + 10))
  end
  return answer
end
