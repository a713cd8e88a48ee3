-- renewslot.lua: extend the lease of a slot that owner has, and raise its fencing counter to
-- owner's token.
--
-- KEYS[-]  slots queue counters, see permit.lua
-- ARGV[-]  owner; lease, in ms; token, its fencing token; slot, the one that it won
-- returns  1: owner has the slot. Where it does not, healslot.lua goes on
-- Called by permit.lua, which carries it inside. Neither shrinks.

local lease, token, slot = args[a + 2], args[a + 3], args[a + 4]
local who, stop = at(slots, slot)
if who == owner then
  if stop < now + lease * 1000 then
    extend(slots, owner, lease)
  end
  recount(counters, slot, token, lease)
  return 1
end
