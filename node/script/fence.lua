-- fence.lua: how long a fencing counter is kept. A part of the other scripts, which carry it
-- inside.
--
-- KEYS[2]  fencing counter of the lock
-- returns  fenceTTL: a counter expires so long after the lease, in ms
-- Called by acquire.lua, raise.lua, renew.lua and release.lua.

-- Proposals follow the masters' clocks, so a counter only has to bridge what is wrong with
-- those. Without any expiry, names that are used once would pile up forever.
local fenceTTL = 3600000
