-- releaseslot.lua: give a slot back that somebody may wait for, or give up waiting. What is
-- free then is handed to those in the queue.
--
-- KEYS[-]  slots queue counters, see permit.lua and slots.lua
-- ARGV[-]  owner, "uuid:rN"; by force, missing;
--          token: owner's fencing token, or the one it proposed; empty to hand off nothing, as
--          a guarded master must;
--          slot, which owner has, unless it has another one; by force, whoever has it, and
--          empty to release all;
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
    local all = args[a + 2] == ''
    for _, who in ipairs(redis.call('zrange', slots, all and 0 or args[a + 2], all and '+inf' or args[a + 2], 'byscore')) do
      answer = 1
      local left = math.ceil((redis.call('zscore', ends, who) - now) / 1000)
      free(slots, who)
      -- After the deletion, or a full master would refuse both. See forced.lua.
      redis.call('set', forcedSlot(slots, who), '1', 'px', left)
    end
  else
    if has(slots, owner) then
      answer = 1
      free(slots, owner)
    end
    if step ~= 'd' and step ~= 'g' then
      leave(queue, owner)
    end
    -- A repeat must not enter one that has a slot by now.
    if (step == 'g' or step == 'G') and not has(slots, next) then
      enterSlot(queue, next, unpack(args, a + 5, a + 10))
    end
  end
  if token ~= '' then
    pump(slots, queue, counters, tonumber(token))
  end
  -- Who gives way to others does not get back here what it gave: of several that share the slots
  -- of all masters, each would have what it had before, forever.
  if step == 'v' and not has(slots, next) then
    enterSlot(queue, next, unpack(args, a + 5, a + 10))
  end
  return answer
end
