-- renew.lua: extend the leases of locks that owners have, and raise their fencing counters to the
-- owners' tokens. A lock that a reader has alone becomes a shared one.
--
-- ARGV[1]  lease, in ms
-- ARGV[2]  "heal" to set a lock again that nobody has, and to let in the readers who wait behind one that
--          has become shared; else empty, as for a guarded master
-- ARGV[-]  for each hold: lock, the lock key, which is a hash, owner -> hold count, or see
--          readers.lua; owner; token, its fencing token; count, its hold count, or "shared" if it
--          is a reader
-- returns  for each hold:
--          1: owner has the lock, for that lease; 2: it did not, and has it again;
--          0: it does not, and nobody else is in its way; -1: another owner is;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called for a Renew command. An error is the answer to its own hold, and so is a name that the ACL
-- forbids: locks are not among KEYS. An expiry and a fencing counter never shrink, so a repeat, or
-- one that comes late, takes nothing away.

-- #include fence.lua
local call, lease, answers = redis.pcall, ARGV[1], {}
local ttl = lease + fenceTTL .. '' -- Redis takes longer to write a number
local start, stop -- by this master's clock, as soon as one hold is a reader's

-- restore renews a hold that is not there, or not as it should be: a reader may have the lock alone.
local function restore(lock, name, owner, token, count)
  local queue, counter, shared = 'redlock_wait:' .. name, 'redlock_fence:' .. name, count == 'shared'
  -- #include holder.lua
  -- #include readers.lua
  -- #include queue.lua
  local holder, wrong = holderOf(lock, owner)
  if wrong then
    return wrong
  end
  local inside = shared and (holder == owner or holder == 'shared' and reads(owner))
  if not inside then
    if holder and not (shared and holder == 'shared') then
      return -1
    elseif ARGV[2] ~= 'heal' or redis.call('exists', 'redlock_forced:' .. name .. owner) == 1 then
      return 0
    end
  end
  if not shared then
    -- pcall: a full master has no room for it.
    return redis.pcall('hset', lock, owner, count) == 1 and 2 or 0
  end
  join(owner, lease, holder)
  if holder == owner and ARGV[2] == 'heal' then
    handOff(tonumber(token), 'shared')
  end
  return inside and 1 or 2
end

-- extend renews the hold of a reader of a lock that is shared, and returns false if it is no reader.
local function extend(lock, name, owner)
  local readers = 'redlock_read:' .. name
  if not start then
    local time = redis.call('time')
    start = time[1] * 1000 + math.floor(time[2] / 1000)
    stop = string.format('%.0f', start + lease)
  end
  if (tonumber(call('zscore', readers, owner)) or 0) <= start then
    return false
  end
  local left = tonumber(call('pttl', lock)) or -1
  if left <= 0 or call('zadd', readers, 'gt', stop, owner) ~= 0 then
    return false
  end
  -- The lock expires with the last of them: whoever lasts for longer has seen to that.
  if left < tonumber(lease) then
    call('pexpireat', lock, stop)
    call('pexpireat', readers, stop)
  end
  return true
end

for i = 3, #ARGV, 4 do
  local lock, owner, token, count = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  -- #include names.lua
  local there, ok, answer = false, true, 1
  if count == 'shared' then
    local fields = call('hrandfield', lock, '2', 'withvalues')
    there = fields[1] == 'mode' and fields[2] == 'shared' and not fields[3] and extend(lock, name, owner)
  else
    local fields = call('hrandfield', lock, '2')
    there = fields[1] == owner and not fields[2]
  end
  if not there then
    ok, answer = pcall(restore, lock, name, owner, token, count)
    if not ok and type(answer) == 'string' then
      answer = redis.error_reply(answer) -- what pcall caught is the answer to its own hold
    end
  end
  if answer == 1 or answer == 2 then
    if count ~= 'shared' then
      local left = call('pttl', lock)
      if type(left) == 'number' and left < tonumber(lease) then
        left = call('pexpire', lock, lease)
      end
      if type(left) ~= 'number' then
        answer = left
      end
    end
    local counter = 'redlock_fence:' .. name
    local last = call('set', counter, token, 'get', 'px', ttl)
    -- A counter never shrinks. One that is no number is left alone: acquire reports it.
    if type(last) == 'string' and last ~= token then
      local number = tonumber(last)
      if not number or number > tonumber(token) and number < fenceEnd then
        call('set', counter, last, 'px', ttl)
      end
    end
  end
  answers[#answers + 1] = answer
end
return answers
