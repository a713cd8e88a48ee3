-- renew.lua: extend the leases of locks that owners have, and raise their fencing counters to the
-- owners' tokens.
--
-- ARGV[1]  lease, in ms
-- ARGV[2]  "heal" to set a lock again that nobody has; else empty, as for a guarded master
-- ARGV[-]  for each hold: lock, the lock key, which is a hash, owner -> hold count; owner; token,
--          its fencing token; count, its hold count
-- returns  for each hold:
--          1: owner has the lock, for that lease; 2: nobody had it, and it was set again;
--          0: nobody has it; -1: another owner has it;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called for a Renew command. An error is the answer to its own hold, and so is a name that the ACL
-- forbids: locks are not among KEYS. An expiry and a fencing counter never shrink, so a repeat, or
-- one that comes late, takes nothing away.

-- #include fence.lua
local call, lease, answers = redis.pcall, ARGV[1], {}
local ttl = lease + fenceTTL .. '' -- Redis takes longer to write a number

-- restore renews a lock that owner does not have alone, or not any more.
local function restore(lock, name, owner, count)
  -- #include holder.lua
  local holder, wrong = holderOf()
  if wrong then
    return wrong
  elseif holder then
    return -1
  end
  if ARGV[2] ~= 'heal' or redis.call('exists', 'redlock_forced:' .. name .. owner) == 1 then
    return 0
  end
  -- pcall: a full master has no room for it.
  return redis.pcall('hset', lock, owner, count) == 1 and 2 or 0
end

for i = 3, #ARGV, 4 do
  local lock, owner, token = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  -- #include names.lua
  local fields, ok, answer = call('hrandfield', lock, '2'), true, 1
  if fields[1] ~= owner or fields[2] then
    ok, answer = pcall(restore, lock, name, owner, ARGV[i + 3])
    if not ok and type(answer) == 'string' then
      answer = redis.error_reply(answer) -- what pcall caught is the answer to its own hold
    end
  end
  if answer == 1 or answer == 2 then
    local left = call('pttl', lock)
    if type(left) == 'number' and left < tonumber(lease) then
      left = call('pexpire', lock, lease)
    end
    if type(left) ~= 'number' then
      answer = left
    end
    -- #include counted.lua
  end
  answers[#answers + 1] = answer
end
return answers
