-- renew.lua: extend the leases of many holds at once.
--
-- KEYS[2i-1]  i-th lock key: a hash, owner -> hold count
-- KEYS[2i]    its fencing counter
-- ARGV[1]     lease, in ms
-- ARGV[2]     1 to set a lock again that nobody has, empty on a guarded master
-- ARGV[3i]    owner of the i-th lock
-- ARGV[3i+1]  its hold count
-- ARGV[3i+2]  its fencing token
-- returns     for each lock: 1 extended, 2 set again, 0 nobody has it,
--             -1 another owner has it;
--             NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called by Node.Send with a Renew command. An expiry and a fencing counter never
-- shrink, so a repeat, or one that comes late, takes nothing away.

-- #include fence.lua
-- #include holder.lua
-- #include forced.lua

local lease, heal = ARGV[1], ARGV[2] == '1'
local ttl = string.format('%.0f', lease + fenceTTL) -- Redis takes longer to write a number
local answer = {}

for i = 1, #KEYS / 2 do
  local lock, counter = KEYS[2 * i - 1], KEYS[2 * i]
  local owner, count, token = ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2]

  local holder, wrong = holderOf(lock, owner)
  local left = redis.call('pttl', lock)
  if wrong then
    answer[i] = wrong -- of this hold, and not of the whole batch
  elseif holder == owner then
    answer[i] = 1
  elseif holder then
    answer[i] = -1
  elseif heal and redis.call('exists', forcedKey(lock, owner)) == 0 then
    -- pcall: a full master has no room for this one, but extends the others.
    answer[i] = redis.pcall('hset', lock, owner, count) == 1 and 2 or 0
  else
    answer[i] = 0
  end

  if answer[i] == 1 or answer[i] == 2 then
    if left < tonumber(lease) then
      redis.call('pexpire', lock, lease)
    end
    -- A counter that is no number is left alone: acquire reports it.
    local last = tonumber(redis.pcall('get', counter) or 0)
    if last and last >= tonumber(token) then
      redis.call('pexpire', counter, ttl)
    elseif last then
      redis.call('set', counter, token, 'px', ttl)
    end
  end
end

return answer
