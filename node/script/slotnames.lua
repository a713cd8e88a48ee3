-- slotnames.lua: the keys that belong to a semaphore.
--
-- KEYS[-]  slots, see permit.lua
-- returns  name, what its keys end in, see names.lua; queue, see slots.lua; counters, see permit.lua
-- A part of the scripts of semaphores, which carry it inside.

local name = string.sub(slots, #'redlock_slots:' + 1)
local queue, counters = 'redlock_slotwait:' .. name, 'redlock_slotfence:' .. name
