-- readers.lua: the readers of a lock, who have it together.
--
-- KEYS[-]  lock, the lock key. While readers have the lock it is a hash with one field, "mode",
--          which is "shared", and it expires with the last of them;
--          readers, a sorted set of owners. The score is when the lease of the owner ends, in ms
--          by this master's clock. Where the lock is not shared, it is left from an earlier time
-- returns  each function says what it returns
-- A part of the scripts that may find readers, which carry it inside.

local readers, now = 'redlock_read:' .. name, nil

-- clock returns the time, in ms: one call has one.
local function clock()
  if not now then
    local time = redis.call('time')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
end

-- reads reports whether owner is a reader of a lock that is shared.
local function reads(owner)
  return tonumber(redis.call('zscore', readers, owner) or 0) > clock()
end

-- lasts makes the lock expire at last, when the lease of its last reader ends. Redis takes no time that is too far away.
local function lasts(last)
  last = string.format('%.0f', math.min(last, FENCE_END))
  redis.call('pexpireat', lock, last)
  redis.call('pexpireat', readers, last)
end

-- settle does so, and frees the lock if there is no reader. It returns whether there is one.
local function settle()
  local last = tonumber(redis.call('zrange', readers, -1, -1, 'withscores')[2] or 0)
  if last <= clock() then
    redis.call('del', lock, readers)
    return false
  end
  lasts(last)
  return true
end

-- join makes owner a reader for ms from now, or for longer if it has longer. holder is who has
-- the lock: nobody, "shared", or owner itself, which had it alone until now. fresh says that no
-- readers are left from an earlier time.
local function join(owner, ms, holder, fresh)
  local now = clock()
  local ends = now + ms
  if holder == 'shared' then
    -- Those whose lease is over go, the first of them first, and no more than 64: the master does nothing else
    -- meanwhile.
    local most = 64
    while most > 0 and tonumber(redis.call('zrange', readers, 0, 0, 'withscores')[2] or now + 1) <= now do
      redis.call('zpopmin', readers)
      most = most - 1
    end
    redis.call('zadd', readers, 'gt', string.format('%.0f', ends), owner)
    settle()
    return
  end
  if holder == owner then
    ends = math.max(ends, now + redis.call('pttl', lock))
    redis.call('hdel', lock, owner)
  end
  redis.call('hset', lock, 'mode', 'shared')
  if not fresh then
    redis.call('del', readers)
  end
  redis.call('zadd', readers, string.format('%.0f', ends), owner)
  lasts(ends)
end
