-- raiseslot.lua: raise the fencing counter of a slot that owner has.
--
-- KEYS[-]  slots queue counters, see permit.lua
-- ARGV[-]  owner, "uuid:rN"; lease of the slot, in ms; token, a fencing token; slot
-- returns  0: the counter was below the token, and is the token now;
--          the counter, above 0: it is not below the token;
--          -1: owner does not have the slot
-- Called by permit.lua, for a Raise command. It carries this inside. A counter that already
-- equals the token may be somebody else's, as in raise.lua.

if at(slots, args[a + 4]) ~= owner then
  return -1
end
local last = tonumber(redis.call('hget', counters, args[a + 4]) or 0)
assert(last, 'ERR the fencing counter is no number')
if last >= fenceEnd then
  count(counters, args[a + 4], args[a + 3], args[a + 2])
  return redis.error_reply(beyond)
end
if last >= tonumber(args[a + 3]) then
  return last
end
count(counters, args[a + 4], args[a + 3], args[a + 2])
return 0
