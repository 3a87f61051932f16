"""What checkov and kube-score find in the pods that operators will make, and do not find in custom resources."""
