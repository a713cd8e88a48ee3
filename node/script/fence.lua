-- fence.lua: how long a fencing counter is kept, and how far it goes.
--
-- KEYS[-]  fencing counter of a lock
-- returns  fenceTTL: a counter expires so long after the lease, in ms;
--          fenceEnd: counters are below it; beyond is the error of a script that finds another, and
--          noCounter of one that finds no number
-- A part of all scripts that look at a counter, which carry it inside.

-- Proposals follow the masters' clocks, so a counter only has to bridge what is wrong with
-- those. Without any expiry, names that are used once would pile up forever.
local fenceTTL = 3600000

-- From 2^53 on a number of Lua may be equal to the one after it, so two holds would have the same.
-- Time takes 200 years to get there: such a counter is no token of ours. No script takes it for
-- one, but puts in its place what is proposed.
local fenceEnd = FENCE_END
local beyond = 'ERR the fencing counter was beyond 2^53, and begins anew'

-- What is no number at all is somebody else's, and is left alone.
local noCounter = 'NOTLOCK counter'
