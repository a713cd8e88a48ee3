-- forceslots.lua: free a slot of a semaphore, whoever has it, or all. What is free then is handed to
-- those in the queue.
--
-- KEYS[1]  slots, see permit.lua
-- ARGV[1]  token: whoever has a slot next gets one above it; empty to hand off nothing
-- ARGV[2]  slot; empty to release all
-- returns  1 freed, -1 nobody had it
-- Called for a ForcePermits or ForceSlot command, which is not repeated.

local slots, token, slot = KEYS[1], ARGV[1], ARGV[2]
-- #include slotnames.lua
-- #include permit.lua
-- #include slots.lua
local answer, wrong = -1, look(slots)
if wrong then
  return wrong
end
local first, last = slot, slot
if slot == '' then
  first, last = 0, '+inf'
end
for _, who in ipairs(redis.call('zrange', slots, first, last, 'byscore')) do
  answer = 1
  local left = math.ceil((redis.call('zscore', slots .. 'ends', who) - now) / 1000)
  free(slots, who)
  -- After the deletion, or a full master would refuse both. See force.lua.
  redis.call('set', forcedSlot(slots, who), '1', 'px', left)
end
if token ~= '' then
  pump(slots, queue, counters, tonumber(token))
end
return answer
