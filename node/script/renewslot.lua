-- renewslot.lua: extend the leases of slots that owners have, and raise their fencing counters to the
-- owners' tokens.
--
-- ARGV[1]  lease, in ms
-- ARGV[2]  "heal" to give a slot again that nobody has; else empty, as for a guarded master, which
--          hands off nothing either
-- ARGV[-]  for each hold: slots, see permit.lua; owner; token, its fencing token; slot, the one that
--          it won
-- returns  for each hold:
--          1: owner has the slot, for that lease; 2: nobody had it, and owner has it now;
--          0: nobody has it; -1: another owner has it
-- Called for a Renew command of Permits. Errors are as in renew.lua. Neither lease nor counter
-- shrinks. What owner has instead of the slot it gives up: a vote for another slot is of no use to it.

local lease, heals, answers = ARGV[1], ARGV[2] == 'heal', {}
-- #include permit.lua

local function renew(slots, owner, token, slot)
  -- #include slotnames.lua
  local who, stop = at(slots, slot)
  if who == owner then
    if stop < now + lease * 1000 then
      extend(slots, owner, lease)
    end
    recount(counters, slot, token, lease)
    return 1
  end
  -- #include slots.lua
  local wrong = look(slots)
  if wrong then
    return wrong
  end
  local other, answer = has(slots, owner), 0
  if other then
    free(slots, owner)
  end
  if at(slots, slot) then
    answer = -1
  elseif heals and redis.call('exists', forcedSlot(slots, owner)) == 0
    and pcall(give, slots, slot, owner, lease) then -- a full master has no room for it
    recount(counters, slot, token, lease)
    answer = 2
  end
  if other and heals then
    pump(slots, queue, counters, 0)
  end
  return answer
end

for i = 3, #ARGV, 4 do
  local ok, answer = pcall(renew, unpack(ARGV, i, i + 3))
  -- #include failed.lua
  answers[#answers + 1] = answer
end
return answers
