from tensorboard.compat.proto.summary_pb2 import Summary

class SessionLog:
    status: int

class Event:
    wall_time: float
    step: int
    summary: Summary
    session_log: SessionLog
    @classmethod
    def FromString(cls, s: bytes) -> Event: ...
    def HasField(self, field_name: str) -> bool: ...
