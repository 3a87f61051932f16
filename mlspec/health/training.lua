-- Health of a PyTorchJob or a TFJob (kubeflow.org/v1), which Argo CD has no check for.
-- A condition counts where its status is "True", never because it is there: a job that goes on after a suspension
-- keeps the condition Suspended with the status "False". Failed goes before Succeeded: the operator may write both,
-- where one worker has ended well and another has not, and never takes Failed back. Without a status, the operator
-- has not seen the job yet. There is no observedGeneration, and none is missed: a run is never changed.
local messages = {}
local status = obj.status
if type(status) == "table" and type(status.conditions) == "table" then
  for _, condition in pairs(status.conditions) do
    if type(condition) == "table" and type(condition.type) == "string" and condition.status == "True" then
      messages[condition.type] = type(condition.message) == "string" and condition.message or condition.type
    end
  end
end

local hs = {
  status = "Progressing",
  message = messages.Restarting or messages.Running or messages.Created or "waits for the training operator"
}
if messages.Failed then
  hs = {status = "Degraded", message = messages.Failed}
elseif messages.Succeeded then
  hs = {status = "Healthy", message = messages.Succeeded}
elseif messages.Suspended then
  hs = {status = "Suspended", message = messages.Suspended}
end
return hs
