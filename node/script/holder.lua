-- holder.lua: who holds a lock, and whether its key is a lock at all.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count
-- returns  holderOf(lock, owner) returns the holder, "shared" if readers have the lock, nil if the key is
--          absent. If the key holds anything else it returns nil and an error reply:
--          "NOTLOCK type", and behind "NOTLOCK hash" its number of fields
-- A part of the scripts of locks, which carry it inside.

-- A lock has exactly one field, and that reads as an owner: ours, "uuid:rN" or "uuid:kN", or Redisson's,
-- "uuid:number"; or "mode", which is "shared", see readers.lua. owner is the caller's own, which
-- needs no second look. A longer one would break the connection that is told of it.
local function holderOf(lock, owner)
  -- Two fields are enough to tell. Another program's hash may have millions.
  local fields = redis.pcall('hrandfield', lock, '2')
  local holder = fields[1]
  if not holder and not fields.err then
    return nil
  end
  if holder and not fields[2] and (holder == owner or #holder <= OWNER_SIZE and string.find(holder,
    '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:[rk%-]?%d+$')) then
    return holder
  end
  if holder == 'mode' and not fields[2] and redis.call('hget', lock, 'mode') == 'shared' then
    return 'shared'
  end
  if fields.err and not string.find(fields.err, 'WRONGTYPE', 1, true) then
    return nil, fields
  end
  local what = redis.call('type', lock).ok
  if what == 'hash' then
    what = 'hash ' .. redis.call('hlen', lock)
  end
  return nil, redis.error_reply('NOTLOCK ' .. what)
end
