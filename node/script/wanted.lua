-- wanted.lua: tell a client that keeps a lock that somebody else wants it.
--
-- KEYS[-]  lock, the lock key
-- ARGV[-]  holder, who has it
-- returns  nothing
-- A part of the scripts that refuse a lock, or take it away.

-- Owners of clients that keep locks are "uuid:kN".
if string.sub(holder or '', 37, 38) == ':k' then
  redis.call('publish', 'redlock_wake:' .. string.sub(holder, 1, 36), holder .. ' wanted ' .. lock)
end
