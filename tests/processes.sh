#!/usr/bin/env bash
# Print how many processes of pytest fit this machine's memory, 1 to 3. Each takes up to 2 GB with
# its browser, JupyterLab and kernels. A container's limit counts, as Linux states it (cgroup 1, 2).
gigabytes=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo 2>/dev/null || echo 16000000) / 1000000))
while IFS=: read -r _ controllers path; do
  for file in "/sys/fs/cgroup$path/memory.max" /sys/fs/cgroup/memory.max \
    "/sys/fs/cgroup/memory$path/memory.limit_in_bytes" /sys/fs/cgroup/memory/memory.limit_in_bytes; do
    case "$controllers:$file" in *memory:*|:*memory.max) ;; *) continue ;; esac
    limit=$(cat "$file" 2>/dev/null) && [[ $limit =~ ^[0-9]{1,18}$ ]] &&
      [ $((limit / 1000000000)) -lt "$gigabytes" ] && gigabytes=$((limit / 1000000000))
  done
done < <(cat /proc/self/cgroup 2>/dev/null)
processes=$((gigabytes / 3))
echo $((processes < 1 ? 1 : processes > 3 ? 3 : processes))
