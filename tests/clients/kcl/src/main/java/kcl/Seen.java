package kcl;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The latest count that was read of each item, and the changes that came out of order. */
final class Seen {
    private final Map<String, Integer> counts = new HashMap<>();
    private final Set<String> shards = new HashSet<>();
    private int ended;
    private int wrong;

    synchronized void change(String shard, String item, int count) {
        shards.add(shard);
        if (count != counts.getOrDefault(item, 0) + 1) {
            wrong++;
        }
        counts.put(item, count);
    }

    synchronized void ended() {
        ended++;
    }

    /** The number of changes that were read, if each was read once. */
    synchronized int count() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    synchronized String report(int written) {
        return "%d of %d changes, %d out of order, %d shards, %d ended"
                .formatted(count(), written, wrong, shards.size(), ended);
    }
}
