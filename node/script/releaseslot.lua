-- releaseslot.lua: give a slot back that somebody may wait for, or give up waiting. What is
-- free then is handed to those in the queue.
--
-- KEYS[1]  slots, see permit.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  token: owner's fencing token, or the one it proposed; empty to hand off nothing, as a
--          guarded master must
-- ARGV[3]  slot, which owner has, unless it has another one
-- ARGV[4]  "waited" if owner may be in the queue; "gives way" if next enters the queue behind what
--          is handed off; else empty, or missing
-- ARGV[5]  next, if owner's client goes on waiting: who enters the queue, and behind it proposal,
--          permits, start and ask, see slots.lua
-- returns  1 freed, -1 not held by owner
-- Called for a Release, Yield, ReleaseTo or YieldTo command of a Permit. A repeat changes nothing,
-- but hands off a slot that has become free since.

local slots, owner, token, slot, waited, next = KEYS[1], unpack(ARGV, 1, 5)
-- #include slotnames.lua
-- #include permit.lua
if not next and redis.call('exists', queue) == 0 and at(slots, slot) == owner then
  free(slots, owner)
  return 1
end

-- #include slots.lua
local answer, wrong = -1, look(slots)
if wrong then
  return wrong
end
if has(slots, owner) then
  answer = 1
  free(slots, owner)
end
if waited and waited ~= '' then
  leave(queue, owner)
end
-- enterNext enters next, unless it has a slot by now: then this is a repeat.
local function enterNext()
  if not has(slots, next) then
    enterSlot(queue, next, unpack(ARGV, 6, 9))
  end
end
if next and waited ~= 'gives way' then
  enterNext()
end
if token ~= '' then
  pump(slots, queue, counters, tonumber(token))
end
-- Who gives way to others does not get back here what it gave: of several that share the slots
-- of all masters, each would have what it had before, forever.
if waited == 'gives way' then
  enterNext()
end
return answer
