-- Health of a SeldonDeployment (machinelearning.seldon.io/v1), which Argo CD has no check for.
-- The operator writes one of three words into status.state, Available, Creating or Failed, and with Failed a reason
-- into status.description. The type of its status has an observedGeneration that Seldon Core 1 never fills (read in
-- 1.16), so there is nothing to compare the generation with.
local state, description = nil, nil
if type(obj.status) == "table" then
  state, description = obj.status.state, obj.status.description
end
if type(description) ~= "string" or description == "" then
  description = nil
end

local hs = {status = "Progressing", message = description or "waits for its deployments"}
if state == "Available" then
  hs = {status = "Healthy", message = "available"}
elseif state == "Failed" then
  hs = {status = "Degraded", message = description or "failed"}
end
return hs
