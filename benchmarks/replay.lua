-- Replays prepared HTTP requests, and ends with one line that load.py reads.
-- The file holds, per request, its length, a newline, and its bytes.

local requests = {}
local last = 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  while true do
    local length = file:read("*n")
    if not length then break end
    file:read(1)
    requests[#requests + 1] = file:read(length)
  end
  file:close()
end

function request()
  last = last % #requests + 1
  return requests[last]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    "\nRESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
