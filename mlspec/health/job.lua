-- Health of a Job (batch/v1), in place of Argo CD's own check, for which a Job that Kueue has resumed is Healthy at
-- once: all that it says of itself while it runs is the condition Suspended with the status "False".
-- A condition counts where its status is "True". SuccessCriteriaMet and FailureTarget (Kubernetes 1.31 on) come
-- before Complete and Failed, while pods are still ending and hold their volumes, so they end nothing. There is no
-- observedGeneration, and none is missed: a run is never changed.
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
  message = messages.FailureTarget or messages.SuccessCriteriaMet or "has not finished"
}
if messages.Failed then
  hs = {status = "Degraded", message = messages.Failed}
elseif messages.Complete then
  hs = {status = "Healthy", message = messages.Complete}
elseif messages.Suspended then
  hs = {status = "Suspended", message = messages.Suspended}
end
return hs
