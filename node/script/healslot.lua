-- healslot.lua: renew a slot that owner does not have, or not any more.
--
-- KEYS[-]  slots queue counters, see permit.lua and slots.lua
-- ARGV[-]  owner; lease, in ms; token, its fencing token; slot, the one that it won
-- returns  2: nobody had the slot, and owner has it now;
--          0: nobody has it; -1: another owner has it
-- Called by permit.lua, for each hold of a Renew command. What owner has instead it gives up: a
-- vote for another slot is of no use to it.

function run(step, slots, queue, counters, a)
  local owner, lease, token, slot = args[a + 1], args[a + 2], args[a + 3], args[a + 4]
  local other, answer = has(slots, owner), 0
  if other then
    free(slots, owner)
  end
  if at(slots, slot) then
    answer = -1
  elseif step == 'm' and redis.call('exists', forcedSlot(slots, owner)) == 0
    and pcall(give, slots, slot, owner, lease) then -- a full master has no room for it
    recount(counters, slot, token, lease)
    answer = 2
  end
  if other and step == 'm' then
    pump(slots, queue, counters, 0)
  end
  return answer
end
