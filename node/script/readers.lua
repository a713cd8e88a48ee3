-- readers.lua: the readers of a lock, who have it together.
--
-- KEYS[-]  lock, the lock key. While readers have the lock it is a hash with one field, "mode",
--          which is "shared", and it expires with the last of them;
--          readers, a sorted set of owners. The score is when the lease of the owner ends, in ms
--          by this master's clock. Where the lock is not shared, it is left from an earlier time
-- returns  each function says what it returns
-- Called by share.lua, keep.lua, raise.lua, release.lua, inspect.lua and queue.lua. A part of
-- call.lua, which carries it inside.

-- What is here is the inside of needReaders: it is made when readers are first met. One call has one
-- time.
if not now then
  local time = redis.call('time')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
readers = 'redlock_read:' .. (string.find(lock, '{', 1, true) and lock .. ':' or '{' .. lock .. '}')

if join then
  return
end

-- reads reports whether owner is a reader of a lock that is shared.
function reads(owner)
  return tonumber(redis.call('zscore', readers, owner) or 0) > now
end

-- settle has the lock expire with the last of its readers, and frees it if there is none. It
-- returns whether there is one.
function settle(lock)
  local last = tonumber(redis.call('zrange', readers, -1, -1, 'withscores')[2] or 0)
  if last <= now then
    redis.call('del', lock, readers)
    return false
  end
  last = string.format('%.0f', last)
  redis.call('pexpireat', lock, last)
  redis.call('pexpireat', readers, last)
  return true
end

-- join makes owner a reader for ms from now, or for longer if it has longer. holder is who has
-- the lock: nobody, "shared", or owner itself, which had it alone until now.
function join(lock, owner, ms, holder)
  local ends = now + ms
  if holder == 'shared' then
    -- Those whose lease is over go, the first of them first.
    while tonumber(redis.call('zrange', readers, 0, 0, 'withscores')[2] or now + 1) <= now do
      redis.call('zpopmin', readers)
    end
  else
    if holder == owner then
      ends = math.max(ends, now + redis.call('pttl', lock))
      redis.call('hdel', lock, owner)
    end
    redis.call('hset', lock, 'mode', 'shared')
    redis.call('del', readers)
  end
  redis.call('zadd', readers, 'gt', string.format('%.0f', ends), owner)
  settle(lock)
end
