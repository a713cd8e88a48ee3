-- keep.lua: renew the leases of readers, and raise the fencing counters to their tokens. A lock that
-- a reader has alone becomes a shared one.
--
-- ARGV[1]  lease, in ms
-- ARGV[2]  "heal" to have owners read again; else empty, as for a guarded master, which hands off
--          nothing either
-- ARGV[-]  for each hold: lock, the lock key, see readers.lua; owner; token, its fencing token
-- returns  for each hold:
--          1: it is a reader, for that lease; 2: it was not, and is again;
--          0: it is not, and nobody has the lock alone; -1: another owner has it alone;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called for a Renew command of readers. Errors are as in renew.lua. An expiry never shrinks, so a
-- repeat, or one that comes late, takes nothing away.

-- #include fence.lua
local call, lease, answers = redis.pcall, ARGV[1], {}
local ttl = lease + fenceTTL .. ''
local time = redis.call('time')
local start = time[1] * 1000 + math.floor(time[2] / 1000)
local stop = string.format('%.0f', start + lease)

-- restore renews the hold of a reader that does not have the lock with others, or not any more.
local function restore(lock, name, owner, token)
  local queue, counter = 'redlock_wait:' .. name, 'redlock_fence:' .. name
  -- #include holder.lua
  -- #include readers.lua
  -- #include queue.lua
  local holder, wrong = holderOf(owner)
  if wrong then
    return wrong
  end
  local inside = holder == owner or holder == 'shared' and reads(owner)
  if not inside then
    if holder and holder ~= 'shared' then
      return -1
    elseif ARGV[2] ~= 'heal' or redis.call('exists', 'redlock_forced:' .. name .. owner) == 1 then
      return 0
    end
  end
  join(owner, lease, holder)
  if holder == owner and ARGV[2] == 'heal' then
    handOff(tonumber(token), 'shared')
  end
  return inside and 1 or 2
end

for i = 3, #ARGV, 3 do
  local lock, owner, token = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  -- #include names.lua
  local readers, ok, answer = 'redlock_read:' .. name, true, 1
  local fields, left = call('hrandfield', lock, '2', 'withvalues'), -1
  if fields[1] == 'mode' and fields[2] == 'shared' and not fields[3] and
    (tonumber(call('zscore', readers, owner)) or 0) > start then
    left = tonumber(call('pttl', lock)) or -1
  end
  if left > 0 and call('zadd', readers, 'gt', stop, owner) == 0 then
    -- The lock expires with the last of them: whoever lasts for longer has seen to that.
    if left < tonumber(lease) then
      call('pexpireat', lock, stop)
      call('pexpireat', readers, stop)
    end
  else
    ok, answer = pcall(restore, lock, name, owner, token)
    if not ok and type(answer) == 'string' then
      answer = redis.error_reply(answer) -- what pcall caught is the answer to its own hold
    end
  end
  if answer == 1 or answer == 2 then
    -- #include counted.lua
  end
  answers[#answers + 1] = answer
end
return answers
