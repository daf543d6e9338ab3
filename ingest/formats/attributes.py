"""Which span attribute means what: names of every emitter, best first, as data.

Output: PICKS (field -> attribute names on the span), RESOURCE_PICKS (the same on the resource), FIRST_TOKEN_EVENTS,
PROVIDERS (spellings). What is dropped or of no column: content.py. What kind of step a span is: stages.py.
Source: the emitters' own code and output, as listed in the conventions of OpenTelemetry (generative AI, 1.27 to 1.42),
OpenInference, OpenLLMetry, Langfuse, AI SDK, LiteLLM, pydantic-ai, MLflow, LangSmith and of the engines.

The first name present with a value wins on one span. Empty text, `None` and `null` count as absent.
"""

from __future__ import annotations

ABSENT: tuple[str, ...] = ("", "None", "null")

PICKS: dict[str, tuple[str, ...]] = {
    # identity of request and call
    "own_id": ("request.id", "llm.request.id"),
    "response_id": ("gen_ai.response.id", "ai.response.id"),
    "call_id": ("gen_ai.request.id", "triton.request_id", "vllm.request_id", "x_request_id"),
    # model and provider
    "provider": (
        "gen_ai.provider.name",
        "gen_ai.system",
        "llm.provider",
        "llm.system",
        "ai.model.provider",
    ),
    "provider_model": ("litellm.provider.model",),
    "model": (
        "gen_ai.response.model",
        "langfuse.observation.model.name",
        "llm.model_name",
        "ai.response.model",
        "triton.model_name",
    ),
    "request_model": ("gen_ai.request.model", "ai.model.id", "mlflow.llm.model"),
    "model_group": ("litellm.model_group",),
    "routed_model": ("target_model", "vllm.model", "model"),
    "parameters": ("llm.invocation_parameters",),
    # tokens
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
        "gen_ai.aggregated_usage.input_tokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "llm.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
        "gen_ai.aggregated_usage.output_tokens",
    ),
    "cached_input_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cached_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "ai.usage.cachedInputTokens",
        "gen_ai.aggregated_usage.cache_read.input_tokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "llm.token_count.prompt_details.cache_write",
        "llm.token_count.prompt_details.cache_creation",
        "gen_ai.aggregated_usage.cache_write.input_tokens",
    ),
    "cache_write_ai_sdk": ("ai.usage.inputTokenDetails.cacheWriteTokens",),  # 0 also where the provider says nothing
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "gen_ai.usage.details.reasoning_tokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
        "ai.usage.reasoningTokens",
        "gen_ai.aggregated_usage.details.reasoning_tokens",
    ),
    "audio_input_tokens": ("llm.token_count.prompt_details.audio",),
    "audio_output_tokens": ("llm.token_count.completion_details.audio",),
    "usage_langfuse": ("langfuse.observation.usage_details",),  # JSON text
    "usage_mlflow": ("mlflow.chat.tokenUsage",),  # JSON text
    "usage_litellm": ("metadata.usage_object",),  # Python text
    "service_tier": (
        "openai.response.service_tier",
        "gen_ai.openai.response.service_tier",
    ),
    "sequences": ("gen_ai.usage.num_sequences", "gen_ai.request.n"),
    # first token, from the start of the same span
    "first_s": ("gen_ai.response.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk"),
    "first_engine_s": ("gen_ai.latency.time_to_first_token",),
    "first_emitter": ("gen_ai.server.time_to_first_token",),  # Strands: ms; anyone else: s
    "first_ms": ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"),
    "first_us": ("gen_ai.response.time_to_first_token",),  # LoongSuite: microseconds
    "first_at": ("langfuse.observation.completion_start_time",),  # ISO text, bare or in JSON quotes
    "caller_ttft_ms": ("app.time_to_first_token_ms",),  # of the root: what the caller saw
    # engine
    "queue_s": ("gen_ai.latency.time_in_queue",),
    "prefill_s": ("gen_ai.latency.time_in_model_prefill",),
    "decode_s": ("gen_ai.latency.time_in_model_decode",),
    "total_s": ("gen_ai.latency.e2e",),
    "queue_text": ("queue_time",),  # TGI: text with a unit
    "inference_text": ("inference_time",),
    "total_text": ("total_time",),
    "per_token_text": ("time_per_token",),
    "kv_transfer_s": ("gen_ai.latency.kv_cache_transfer_time",),
    "batch_size": ("inference.batch_size", "llm.batch.size"),
    "queue_depth": ("inference.queue_depth",),
    "kv_cache_usage": ("inference.kv_cache_usage", "llm.kv_cache.utilization"),
    "preemptions": ("inference.preemptions", "llm.preemptions"),
    "itl_max_s": ("inference.itl_max_seconds",),
    # outcome
    "streaming": (
        "gen_ai.request.stream",
        "gen_ai.is_streaming",
        "llm.is_streaming",
        "litellm.request.streaming",
        "vllm.is_streaming",
        "llm_d.pd_proxy.decode.streaming",
        "langsmith.request.streaming",
        "stream",
    ),
    "finish_reason": (
        "gen_ai.response.finish_reasons",
        "gen_ai.response.finish_reason",
        "llm.finish_reason",
        "ai.response.finishReason",
        "gen_ai.completion.0.finish_reason",
        "langfuse.observation.metadata.finish_reason",
    ),
    "level": ("langfuse.observation.level",),
    "error_type": ("error.type",),
    "error_code": ("error.code",),
    "thread_error": ("type",),  # SGLang's thread span
    "http_status": ("http.response.status_code", "http.status_code"),
    "other_status": ("status", "status_code"),  # Spring's and SGLang's
    "outcome": ("llm.status",),  # ok, error, timeout, cancelled
    # identity of who asked and what served
    "user": (
        "user.id",
        "enduser.id",
        "langfuse.user.id",
        "traceloop.association.properties.user_id",
        "ai.telemetry.metadata.userId",
        "gen_ai.user",
        "llm.user",
        "gen_ai.request.user",
        "litellm.end_user.id",
        "metadata.user_api_key_end_user_id",
    ),
    "tenant": (
        "tenant.id",
        "tenant",
        "traceloop.association.properties.tenant",
        "traceloop.association.properties.customer_id",
        "ai.telemetry.metadata.tenant",
        "langfuse.trace.metadata.tenant",
    ),
    "metadata": ("metadata",),  # JSON text: its tenant and scenario stand between the two lists
    "team": ("litellm.team.id", "metadata.user_api_key_team_id"),
    "session": (
        "gen_ai.conversation.id",
        "session.id",
        "langfuse.session.id",
        "traceloop.association.properties.session_id",
        "ai.telemetry.metadata.sessionId",
        "gcp.vertex.agent.session_id",
        "gen_ai.thread.id",
    ),
    "scenario": ("scenario", "app.scenario", "traceloop.association.properties.scenario"),
    "workflow": ("ai.telemetry.functionId", "traceloop.workflow.name", "langfuse.trace.name", "gen_ai.workflow.name"),
    "agent": ("gen_ai.agent.name",),  # of the outermost invoke_agent only
    "trace_name": ("langsmith.trace.name",),
    "route": (
        "http.route",
        "litellm.request.route",
        "metadata.user_api_key_request_route",
        "uri",
        "route",
    ),
    "region": ("cloud.region",),
    "deployment_version": ("deployment.version",),
    "replica": (
        "llm.replica",
        "vllm.backend_url",
        "target_pod",
        "llm_d.pd_proxy.decode.target",
        "instance_id",
        "worker_id",
        "service.instance.id",
    ),
    "degraded": ("app.degraded",),
    "cold_start": ("app.cold_start",),
    "retries": ("gateway.retries",),
    # cost, USD
    "cost": (
        "gen_ai.cost.total_cost",
        "litellm.cost.total",
        "llm.cost.usd",
        "operation.cost",
        "gen_ai.usage.cost",
        "llm.cost.total",
    ),
    "cost_langfuse": ("langfuse.observation.cost_details",),  # JSON text
    "cost_mlflow": ("mlflow.llm.cost",),  # number or JSON text
    # what kind of step the span is (formats/stages.py judges it)
    "operation": ("gen_ai.operation.name",),
    "kind_openinference": ("openinference.span.kind",),
    "kind_traceloop": ("traceloop.span.kind",),
    "kind_request": ("llm.request.type",),
    "kind_langfuse": ("langfuse.observation.type",),
    "kind_ai_sdk": ("ai.operationId",),
    "kind_spring": ("spring.ai.kind",),
    "kind_langsmith": ("langsmith.span.kind",),
    "kind_mlflow": ("mlflow.spanType",),
    "kind_logfire": ("logfire.span_type",),
    "kind_database": ("db.system", "db.system.name"),
    "kind_mcp": ("mcp.method.name",),
    "module": ("module",),
    "thread": ("thread_label",),
    "rank": ("tp_rank",),
}

RESOURCE_PICKS: dict[str, tuple[str, ...]] = {
    "service": ("service.name",),
    "resource_namespace": ("service.namespace",),
    "resource_region": ("cloud.region",),
    "resource_version": ("service.version",),
    "resource_replica": ("service.instance.id", "k8s.pod.name"),
}

MAPPED_FIELDS: dict[str, str] = {  # field of a mapping file -> pick that its names go in front of
    "ttft": "first_s",
    "queue": "queue_s",
    "prefill": "prefill_s",
    "decode": "decode_s",
    "request_id": "own_id",
    "requested_model": "model_group",
}

FIRST_TOKEN_EVENTS: tuple[str, ...] = (
    "First Token Stream Event",
    "gen_ai.first_token",
    "gen_ai.content.completion.chunk",
    "llm.content.completion.chunk",
    "ai.stream.firstChunk",
)

PROVIDERS: dict[str, str] = {  # old spelling -> present one
    "vertex_ai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "az.ai.inference": "azure.ai.inference",
    "az.ai.openai": "azure.ai.openai",
    "xai": "x_ai",
}
