package smoke;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbVersionAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondaryPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;

/** An item, declared as a bean for the enhanced client. */
@DynamoDbBean
public class Reading {
    private String sensor;
    private Instant time;
    private String room;
    private double value;
    private List<String> notes;
    private Long version;

    static Reading of(String sensor, int second, String room, double value) {
        var reading = new Reading();
        reading.sensor = sensor;
        reading.time = Instant.ofEpochSecond(second);
        reading.room = room;
        reading.value = value;
        reading.notes = List.of("ü", "");
        return reading;
    }

    @DynamoDbPartitionKey
    public String getSensor() {
        return sensor;
    }

    public void setSensor(String sensor) {
        this.sensor = sensor;
    }

    @DynamoDbSortKey
    public Instant getTime() {
        return time;
    }

    public void setTime(Instant time) {
        this.time = time;
    }

    @DynamoDbSecondaryPartitionKey(indexNames = "by_room")
    public String getRoom() {
        return room;
    }

    public void setRoom(String room) {
        this.room = room;
    }

    public double getValue() {
        return value;
    }

    public void setValue(double value) {
        this.value = value;
    }

    public List<String> getNotes() {
        return notes;
    }

    public void setNotes(List<String> notes) {
        this.notes = notes;
    }

    @DynamoDbVersionAttribute
    public Long getVersion() {
        return version;
    }

    public void setVersion(Long version) {
        this.version = version;
    }

    private List<Object> values() {
        return List.of(sensor, time, room, value, notes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Reading reading && values().equals(reading.values());
    }

    @Override
    public int hashCode() {
        return Objects.hash(values());
    }

    @Override
    public String toString() {
        return values().toString();
    }
}
