"""OTLP over gRPC: what POST /v1/traces does, in the other transport. Needs the extra `grpc`.

Input: TraceService/Export, packed with gzip, deflate or not. Output: as the specification says: OK once the spans are
durable, with a partial success where some are refused; INVALID_ARGUMENT for what will never go through;
RESOURCE_EXHAUSTED and UNAVAILABLE with RetryInfo for what may.
A stream is announced to the library where one message comes: so a caller without a key is refused before its message
is read. Messages are unpacked here, for the library unpacks without watching how much comes out.
Source: OTLP specification, section on OTLP/gRPC.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote

import grpc
import structlog

from api.bodies import unpack
from api.export_answer import rpc_status, success
from api.house import House
from api.keys import KeyRing
from api.middleware import Allowance, key_refusal
from api.problems import Refused, rpc_code_of
from api.settings import STOP_S
from api.sockets import place
from ingest.errors import ServiceError, StateError

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SAME_OVER_HTTP = ("POST", "/v1/traces")  # what a key must allow
CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
LONGEST_MESSAGE = 2**31 - 1  # bytes that the library can be told
LONGEST_STATUS = 1000  # characters; it travels in metadata, of which clients take 8 KiB
GZIP = b"\x1f\x8b"  # no export request starts so: its only field is 1
DEFLATE, DEFLATE_CHECK = 0x78, 31  # first byte of zlib with the usual window; the first two divide by 31


@asynccontextmanager
async def receiving(house: House, ring: KeyRing, allowance: Allowance, port: int) -> AsyncIterator[str]:
    """HOST:PORT where exports are taken; those under way are finished when the context ends.

    Raises:
        StateError: the address cannot be had.
    """
    settings = house.settings
    server = grpc.aio.server(
        options=(
            ("grpc.so_reuseport", 0),  # a second server at the same port would take half of the spans
            ("grpc.per_message_decompression", 0),
            ("grpc.max_receive_message_length", min(settings.max_body_bytes, LONGEST_MESSAGE)),
        )
    )
    server.add_generic_rpc_handlers((_Exports(house, ring, allowance),))
    try:
        bound = server.add_insecure_port(place(settings.host, port))
    except RuntimeError as error:
        raise StateError(
            f"cannot listen at {place(settings.host, port)} for OTLP over gRPC",
            code="address_taken",
            hint="give another --grpc-port; 0 takes a free one",
        ) from error
    await server.start()
    try:
        yield place(settings.host, bound)
    finally:
        await server.stop(STOP_S)


class _Exports(grpc.GenericRpcHandler):  # type: ignore[misc]  # the library is untyped
    """Takes exports of spans; every other method is unknown here."""

    def __init__(self, house: House, ring: KeyRing, allowance: Allowance) -> None:
        self._house = house
        self._ring = ring
        self._allowance = allowance
        self._handler = grpc.stream_unary_rpc_method_handler(self._export)

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._handler if call.method == METHOD else None

    async def _export(self, sent: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> bytes:
        began, code = time.perf_counter(), grpc.StatusCode.CANCELLED
        try:
            try:
                answer = await self._take(sent, context)
                code = grpc.StatusCode.OK
                return answer
            except ServiceError as error:
                refusal = error
            except Exception as error:
                structlog.get_logger("grpc").error("unexpected", method=METHOD, exc_info=error)
                refusal = ServiceError(
                    f"the server met an error that it does not know ({type(error).__name__}); its log has more"
                )
            code = CODES[rpc_code_of(refusal)]
            await _abort(context, code, refusal)
            raise AssertionError("abort returns to nobody")
        finally:
            self._house.telemetry.grpc_requests.labels(METHOD, code.name).inc()
            self._house.telemetry.grpc_seconds.labels(METHOD).observe(time.perf_counter() - began)

    async def _take(self, sent: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> bytes:
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        refusal = key_refusal(self._ring, headers, *SAME_OVER_HTTP) or self._allowance.refusal(_address(context.peer()))
        if refusal is not None:
            raise refusal
        async for body in sent:
            with self._house.held.share() as share:
                share.add(len(body))
                most = self._house.settings.max_unpacked_bytes
                unpacked = await asyncio.to_thread(unpack, body, _encoding(body), most, share)
                return success("protobuf", await self._house.receiver.take("protobuf", unpacked))
        raise Refused("the call holds no message", status=400, code="no_message")


async def _abort(context: grpc.aio.ServicerContext, code: grpc.StatusCode, error: ServiceError) -> None:
    says = error.message[:LONGEST_STATUS]
    retry_after = error.retry_after if isinstance(error, Refused) else None
    status = rpc_status(code.value[0], says, retry_after)
    await context.abort(code, says, (("grpc-status-details-bin", status),))


def _encoding(body: bytes) -> str:
    """How a message is packed, by its first bytes: the library keeps what was said of it to itself."""
    if body[:2] == GZIP:
        return "gzip"
    is_deflate = body[:1] == bytes([DEFLATE]) and int.from_bytes(body[:2]) % DEFLATE_CHECK == 0
    return "deflate" if is_deflate else "identity"


def _address(peer: str) -> str:
    """The address of a client: of "ipv4:10.0.0.1:5000" 10.0.0.1, of "ipv6:%5B::1%5D:5000" ::1."""
    host = unquote(peer).partition(":")[2].rpartition(":")[0]
    return host.strip("[]")
