-- raiseslot.lua: raise the fencing counter of a slot that owner has.
--
-- KEYS[1]  slots, see permit.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease of the slot, in ms
-- ARGV[3]  token, a fencing token
-- ARGV[4]  slot
-- returns  0: the counter was below the token, and is the token now;
--          the counter, above 0: it is not below the token;
--          -1: owner does not have the slot
-- Called for a Raise command of a Permit. A counter that already equals the token may be somebody
-- else's, as in raise.lua.

local slots, owner, lease, token, slot = KEYS[1], unpack(ARGV)
-- #include slotnames.lua
-- #include permit.lua
if at(slots, slot) ~= owner then
  return -1
end
local last = tonumber(redis.call('hget', counters, slot) or 0)
if not last then
  return redis.error_reply('ERR the fencing counter is no number')
end
if last >= fenceEnd then
  count(counters, slot, token, lease)
  return redis.error_reply(beyond)
end
if last >= tonumber(token) then
  return last
end
count(counters, slot, token, lease)
return 0
