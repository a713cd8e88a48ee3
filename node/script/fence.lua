-- fence.lua: how long a fencing counter is kept.
--
-- KEYS[-]  fencing counter of a lock
-- returns  fenceTTL: a counter expires so long after the lease, in ms
-- Called by grant.lua, grantshared.lua, extend.lua, queue.lua, acquire.lua, share.lua and
-- raise.lua. A part of call.lua, which carries it inside.

-- Proposals follow the masters' clocks, so a counter only has to bridge what is wrong with
-- those. Without any expiry, names that are used once would pile up forever.
local fenceTTL = 3600000
