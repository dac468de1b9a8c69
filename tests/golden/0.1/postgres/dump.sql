SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.adk_internal_metadata (
    key character varying(128) NOT NULL,
    value character varying(256) NOT NULL
);
CREATE TABLE public.app_states (
    app_name character varying(128) NOT NULL,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL
);
CREATE TABLE public.events (
    id character varying(128) NOT NULL,
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    invocation_id character varying(256) NOT NULL,
    "timestamp" timestamp without time zone NOT NULL,
    event_data jsonb
);
CREATE TABLE public.pleach_inbox_5 (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    created timestamp without time zone NOT NULL,
    events bigint NOT NULL,
    questions bigint NOT NULL
);
CREATE TABLE public.pleach_questions_5 (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    place bigint NOT NULL,
    asked_at double precision NOT NULL,
    assignee text,
    event_id character varying(128) NOT NULL,
    question_id text NOT NULL
);
CREATE TABLE public.pleach_settled_1 (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    program text NOT NULL,
    created timestamp without time zone NOT NULL,
    update_time timestamp without time zone NOT NULL,
    ties bigint NOT NULL,
    is_older boolean NOT NULL
);
CREATE TABLE public.sessions (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    create_time timestamp without time zone NOT NULL,
    update_time timestamp without time zone NOT NULL
);
CREATE TABLE public.user_states (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL
);
COPY public.adk_internal_metadata (key, value) FROM stdin;
schema_version	1
\.
COPY public.app_states (app_name, state, update_time) FROM stdin;
talk	{}	2026-11-27 00:28:31.767075
desk	{}	2026-11-27 00:28:31.782802
gate	{}	2026-11-27 00:28:31.798791
refund	{}	2026-11-27 00:28:31.807463
paid	{}	2026-11-27 00:28:31.813114
order	{}	2026-11-27 00:28:31.823365
pair	{}	2026-11-27 00:28:31.831883
cut	{}	2026-11-27 00:28:31.844628
cut_agent	{}	2026-11-27 00:28:31.84819
patient	{}	2026-11-27 00:28:31.85228
late	{}	2026-11-27 00:28:31.855085
parcel	{}	2026-11-27 00:28:31.861586
state	{"runs": 1}	2026-11-27 00:28:31.868043
large	{}	2026-11-27 00:28:31.870019
erased	{}	2026-11-27 00:28:31.926023
sums	{}	2026-11-27 00:28:31.953494
files	{}	2026-11-27 00:28:31.967506
\.
COPY public.events (id, app_name, user_id, session_id, invocation_id, "timestamp", event_data) FROM stdin;
00000000-0000-4000-8000-000000000002	talk	ana	s1	e-00000000-0000-4000-8000-000000000001	2027-01-15 08:00:01	{"id": "00000000-0000-4000-8000-000000000002", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "Hello"}]}, "node_info": {"path": ""}, "timestamp": 1800000001.0, "invocation_id": "e-00000000-0000-4000-8000-000000000001"}
00000000-0000-4000-8000-000000000003	talk	ana	s1	e-00000000-0000-4000-8000-000000000001	2027-01-15 08:00:02	{"id": "00000000-0000-4000-8000-000000000003", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Hello, Ana."}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000002.0, "invocation_id": "e-00000000-0000-4000-8000-000000000001"}
00000000-0000-4000-8000-000000000006	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:04	{"id": "00000000-0000-4000-8000-000000000006", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "Refund?"}]}, "node_info": {"path": ""}, "timestamp": 1800000004.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005"}
00000000-0000-4000-8000-000000000007	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:05	{"id": "00000000-0000-4000-8000-000000000007", "author": "front", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-00000000-0000-4000-8000-000000000008", "args": {}, "name": "look"}}]}, "node_info": {"path": "front@1"}, "timestamp": 1800000005.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005", "long_running_tool_ids": []}
00000000-0000-4000-8000-00000000000a	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:06	{"id": "00000000-0000-4000-8000-00000000000a", "author": "front", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-00000000-0000-4000-8000-000000000008", "name": "look", "response": {"seen": "a refund"}}}]}, "node_info": {"path": "front@1"}, "timestamp": 1800000006.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005"}
00000000-0000-4000-8000-00000000000b	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:07	{"id": "00000000-0000-4000-8000-00000000000b", "author": "front", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-00000000-0000-4000-8000-00000000000c", "args": {"agent_name": "desk"}, "name": "transfer_to_agent"}}]}, "node_info": {"path": "front@1"}, "timestamp": 1800000007.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005", "long_running_tool_ids": []}
00000000-0000-4000-8000-00000000000e	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:08	{"id": "00000000-0000-4000-8000-00000000000e", "author": "front", "actions": {"state_delta": {}, "artifact_delta": {}, "transfer_to_agent": "desk", "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-00000000-0000-4000-8000-00000000000c", "name": "transfer_to_agent", "response": {"result": null}}}]}, "node_info": {"path": "front@1"}, "timestamp": 1800000008.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005"}
00000000-0000-4000-8000-00000000000f	desk	ana	s1	e-00000000-0000-4000-8000-000000000005	2027-01-15 08:00:09	{"id": "00000000-0000-4000-8000-00000000000f", "author": "desk", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "I am the desk."}]}, "node_info": {"path": "front@1/desk@1"}, "timestamp": 1800000009.0, "invocation_id": "e-00000000-0000-4000-8000-000000000005"}
00000000-0000-4000-8000-000000000012	gate	ana	s1	e-00000000-0000-4000-8000-000000000011	2027-01-15 08:00:11	{"id": "00000000-0000-4000-8000-000000000012", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "Pay."}]}, "node_info": {"path": ""}, "timestamp": 1800000011.0, "invocation_id": "e-00000000-0000-4000-8000-000000000011"}
00000000-0000-4000-8000-000000000013	gate	ana	s1	e-00000000-0000-4000-8000-000000000011	2027-01-15 08:00:12	{"id": "00000000-0000-4000-8000-000000000013", "author": "payer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-00000000-0000-4000-8000-000000000014", "args": {"cents": 1200}, "name": "pay"}}]}, "node_info": {"path": "payer@1"}, "timestamp": 1800000012.0, "invocation_id": "e-00000000-0000-4000-8000-000000000011", "long_running_tool_ids": []}
00000000-0000-4000-8000-000000000017	gate	ana	s1	e-00000000-0000-4000-8000-000000000011	2027-01-15 08:00:14	{"id": "00000000-0000-4000-8000-000000000017", "author": "payer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-00000000-0000-4000-8000-000000000016", "args": {"toolConfirmation": {"hint": "Please approve or reject the tool call pay() by responding with a FunctionResponse with an expected ToolConfirmation payload.", "confirmed": false}, "originalFunctionCall": {"id": "adk-00000000-0000-4000-8000-000000000014", "args": {"cents": 1200}, "name": "pay"}}, "name": "adk_request_confirmation"}}]}, "node_info": {"path": "payer@1"}, "timestamp": 1800000014.0, "invocation_id": "e-00000000-0000-4000-8000-000000000011", "long_running_tool_ids": ["adk-00000000-0000-4000-8000-000000000016"]}
00000000-0000-4000-8000-000000000028	pair	ana	s1	e-00000000-0000-4000-8000-000000000027	2027-01-15 08:00:31	{"id": "00000000-0000-4000-8000-000000000028", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000031.0, "invocation_id": "e-00000000-0000-4000-8000-000000000027"}
00000000-0000-4000-8000-000000000018	gate	ana	s1	e-00000000-0000-4000-8000-000000000011	2027-01-15 08:00:15	{"id": "00000000-0000-4000-8000-000000000018", "author": "payer", "actions": {"state_delta": {}, "artifact_delta": {}, "skip_summarization": true, "requested_auth_configs": {}, "requested_tool_confirmations": {"adk-00000000-0000-4000-8000-000000000014": {"hint": "Please approve or reject the tool call pay() by responding with a FunctionResponse with an expected ToolConfirmation payload.", "confirmed": false}}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-00000000-0000-4000-8000-000000000014", "name": "pay", "response": {"error": "This tool call requires confirmation, please approve or reject."}}}]}, "node_info": {"path": "payer@1"}, "timestamp": 1800000015.0, "invocation_id": "e-00000000-0000-4000-8000-000000000011"}
00000000-0000-4000-8000-00000000001a	refund	ana	s1	e-00000000-0000-4000-8000-000000000019	2027-01-15 08:00:17	{"id": "00000000-0000-4000-8000-00000000001a", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "1200"}]}, "node_info": {"path": ""}, "timestamp": 1800000017.0, "invocation_id": "e-00000000-0000-4000-8000-000000000019"}
00000000-0000-4000-8000-00000000001b	refund	ana	s1	e-00000000-0000-4000-8000-000000000019	2027-01-15 08:00:18	{"id": "00000000-0000-4000-8000-00000000001b", "author": "wf", "output": 1200, "actions": {"state_delta": {"cents": 1200}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/check@1", "output_for": ["wf@1/check@1"]}, "timestamp": 1800000018.0, "invocation_id": "e-00000000-0000-4000-8000-000000000019"}
00000000-0000-4000-8000-00000000001c	refund	ana	s1	e-00000000-0000-4000-8000-000000000019	2027-01-15 08:00:19	{"id": "00000000-0000-4000-8000-00000000001c", "author": "wf", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "manager", "args": {"message": "Refund 1200 cents?", "payload": {"cents": 1200}, "assignee": "managers", "interruptId": "manager", "response_schema": {"type": "boolean", "title": "boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/approve@1"}, "timestamp": 1800000019.0, "invocation_id": "e-00000000-0000-4000-8000-000000000019", "long_running_tool_ids": ["manager"]}
00000000-0000-4000-8000-00000000001e	paid	ana	s1	e-00000000-0000-4000-8000-00000000001d	2027-01-15 08:00:21	{"id": "00000000-0000-4000-8000-00000000001e", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "1300"}]}, "node_info": {"path": ""}, "timestamp": 1800000021.0, "invocation_id": "e-00000000-0000-4000-8000-00000000001d"}
00000000-0000-4000-8000-00000000001f	paid	ana	s1	e-00000000-0000-4000-8000-00000000001d	2027-01-15 08:00:22	{"id": "00000000-0000-4000-8000-00000000001f", "author": "wf", "output": 1300, "actions": {"state_delta": {"cents": 1300}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/check@1", "output_for": ["wf@1/check@1"]}, "timestamp": 1800000022.0, "invocation_id": "e-00000000-0000-4000-8000-00000000001d"}
00000000-0000-4000-8000-000000000020	paid	ana	s1	e-00000000-0000-4000-8000-00000000001d	2027-01-15 08:00:23	{"id": "00000000-0000-4000-8000-000000000020", "author": "wf", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "manager", "args": {"message": "Refund 1300 cents?", "payload": {"cents": 1300}, "assignee": "managers", "interruptId": "manager", "response_schema": {"type": "boolean", "title": "boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/approve@1"}, "timestamp": 1800000023.0, "invocation_id": "e-00000000-0000-4000-8000-00000000001d", "long_running_tool_ids": ["manager"]}
00000000-0000-4000-8000-000000000021	paid	ana	s1	e-00000000-0000-4000-8000-00000000001d	2027-01-15 08:00:24	{"id": "00000000-0000-4000-8000-000000000021", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "manager", "name": "adk_request_input", "response": {"result": true}}}]}, "node_info": {"path": ""}, "timestamp": 1800000024.0, "invocation_id": "e-00000000-0000-4000-8000-00000000001d"}
00000000-0000-4000-8000-000000000022	paid	ana	s1	e-00000000-0000-4000-8000-00000000001d	2027-01-15 08:00:25	{"id": "00000000-0000-4000-8000-000000000022", "author": "wf", "output": "1300 paid", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/pay@1", "output_for": ["wf@1/pay@1", "wf@1"]}, "timestamp": 1800000025.0, "invocation_id": "e-00000000-0000-4000-8000-00000000001d"}
00000000-0000-4000-8000-000000000024	order	ana	s1	e-00000000-0000-4000-8000-000000000023	2027-01-15 08:00:27	{"id": "00000000-0000-4000-8000-000000000024", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "1200"}]}, "node_info": {"path": ""}, "timestamp": 1800000027.0, "invocation_id": "e-00000000-0000-4000-8000-000000000023"}
00000000-0000-4000-8000-000000000025	order	ana	s1	e-00000000-0000-4000-8000-000000000023	2027-01-15 08:00:28	{"id": "00000000-0000-4000-8000-000000000025", "author": "charge", "output": "receipt for 1200", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "order@1/charge@key-k1", "output_for": ["order@1/charge@key-k1"]}, "timestamp": 1800000028.0, "invocation_id": "e-00000000-0000-4000-8000-000000000023"}
00000000-0000-4000-8000-000000000026	order	ana	s1	e-00000000-0000-4000-8000-000000000023	2027-01-15 08:00:29	{"id": "00000000-0000-4000-8000-000000000026", "author": "order", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "ship", "args": {"message": "Ship it?", "payload": null, "interruptId": "ship", "response_schema": {"type": "boolean", "title": "boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "order@1"}, "timestamp": 1800000029.0, "invocation_id": "e-00000000-0000-4000-8000-000000000023", "long_running_tool_ids": ["ship"]}
00000000-0000-4000-8000-000000000029	pair	ana	s1	e-00000000-0000-4000-8000-000000000027	2027-01-15 08:00:32	{"id": "00000000-0000-4000-8000-000000000029", "author": "wf", "branch": "left@1", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "left", "args": {"message": "Left?", "payload": null, "interruptId": "left", "response_schema": {"type": "integer", "title": "uint32", "format": "uint32", "minimum": 0}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/left@1"}, "timestamp": 1800000032.0, "invocation_id": "e-00000000-0000-4000-8000-000000000027", "long_running_tool_ids": ["left"]}
00000000-0000-4000-8000-00000000002a	pair	ana	s1	e-00000000-0000-4000-8000-000000000027	2027-01-15 08:00:33	{"id": "00000000-0000-4000-8000-00000000002a", "author": "wf", "branch": "right@1", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "right", "args": {"message": "Right?", "payload": null, "interruptId": "right", "response_schema": {"type": "integer", "title": "uint32", "format": "uint32", "minimum": 0}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/right@1"}, "timestamp": 1800000033.0, "invocation_id": "e-00000000-0000-4000-8000-000000000027", "long_running_tool_ids": ["right"]}
00000000-0000-4000-8000-00000000002b	pair	ana	s1	e-00000000-0000-4000-8000-000000000027	2027-01-15 08:00:34	{"id": "00000000-0000-4000-8000-00000000002b", "author": "user", "branch": "left@1", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "left", "name": "adk_request_input", "response": {"result": 1}}}]}, "node_info": {"path": ""}, "timestamp": 1800000034.0, "invocation_id": "e-00000000-0000-4000-8000-000000000027"}
00000000-0000-4000-8000-00000000002d	cut	ana	s1	e-00000000-0000-4000-8000-00000000002c	2027-01-15 08:00:36	{"id": "00000000-0000-4000-8000-00000000002d", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000036.0, "invocation_id": "e-00000000-0000-4000-8000-00000000002c"}
00000000-0000-4000-8000-00000000002e	cut	ana	s1	e-00000000-0000-4000-8000-00000000002c	2027-01-15 08:00:37	{"id": "00000000-0000-4000-8000-00000000002e", "author": "wf", "output": 1, "actions": {"state_delta": {"first": true}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/first@1", "output_for": ["wf@1/first@1"]}, "timestamp": 1800000037.0, "invocation_id": "e-00000000-0000-4000-8000-00000000002c"}
00000000-0000-4000-8000-000000000030	cut_agent	ana	s1	e-00000000-0000-4000-8000-00000000002f	2027-01-15 08:00:39	{"id": "00000000-0000-4000-8000-000000000030", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "Look."}]}, "node_info": {"path": ""}, "timestamp": 1800000039.0, "invocation_id": "e-00000000-0000-4000-8000-00000000002f"}
00000000-0000-4000-8000-000000000031	cut_agent	ana	s1	e-00000000-0000-4000-8000-00000000002f	2027-01-15 08:00:40	{"id": "00000000-0000-4000-8000-000000000031", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-00000000-0000-4000-8000-000000000032", "args": {}, "name": "look"}}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000040.0, "invocation_id": "e-00000000-0000-4000-8000-00000000002f", "long_running_tool_ids": []}
00000000-0000-4000-8000-000000000034	cut_agent	ana	s1	e-00000000-0000-4000-8000-00000000002f	2027-01-15 08:00:41	{"id": "00000000-0000-4000-8000-000000000034", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-00000000-0000-4000-8000-000000000032", "name": "look", "response": {"seen": "an otter"}}}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000041.0, "invocation_id": "e-00000000-0000-4000-8000-00000000002f"}
00000000-0000-4000-8000-000000000036	patient	ana	s1	e-00000000-0000-4000-8000-000000000035	2027-01-15 08:00:43	{"id": "00000000-0000-4000-8000-000000000036", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000043.0, "invocation_id": "e-00000000-0000-4000-8000-000000000035"}
00000000-0000-4000-8000-000000000037	patient	ana	s1	e-00000000-0000-4000-8000-000000000035	2027-01-15 08:00:45	{"id": "00000000-0000-4000-8000-000000000037", "author": "wait", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "ok", "args": {"message": "Pay?", "payload": null, "deadline": 1800086444.0, "interruptId": "ok", "response_schema": {"type": ["boolean", "null"], "title": "Nullable_boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wait@1"}, "timestamp": 1800000045.0, "invocation_id": "e-00000000-0000-4000-8000-000000000035", "long_running_tool_ids": ["ok"]}
00000000-0000-4000-8000-000000000039	late	ana	s1	e-00000000-0000-4000-8000-000000000038	2027-01-15 08:01:18	{"id": "00000000-0000-4000-8000-000000000039", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000078.0, "invocation_id": "e-00000000-0000-4000-8000-000000000038"}
00000000-0000-4000-8000-00000000003a	late	ana	s1	e-00000000-0000-4000-8000-000000000038	2027-01-15 08:01:20	{"id": "00000000-0000-4000-8000-00000000003a", "author": "wait", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "ok", "args": {"message": "Pay?", "payload": null, "deadline": 1800000139.0, "interruptId": "ok", "response_schema": {"type": ["boolean", "null"], "title": "Nullable_boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wait@1"}, "timestamp": 1800000080.0, "invocation_id": "e-00000000-0000-4000-8000-000000000038", "long_running_tool_ids": ["ok"]}
00000000-0000-4000-8000-00000000003c	parcel	ana	s1	e-00000000-0000-4000-8000-00000000003b	2027-01-15 08:01:53	{"id": "00000000-0000-4000-8000-00000000003c", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000113.0, "invocation_id": "e-00000000-0000-4000-8000-00000000003b"}
00000000-0000-4000-8000-00000000003d	parcel	ana	s1	e-00000000-0000-4000-8000-00000000003b	2027-01-15 08:01:54	{"id": "00000000-0000-4000-8000-00000000003d", "author": "before", "output": 3, "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wait@1/before@step-1", "output_for": ["wait@1/before@step-1"]}, "timestamp": 1800000114.0, "invocation_id": "e-00000000-0000-4000-8000-00000000003b"}
00000000-0000-4000-8000-00000000003e	parcel	ana	s1	e-00000000-0000-4000-8000-00000000003b	2027-01-15 08:01:55	{"id": "00000000-0000-4000-8000-00000000003e", "author": "wait", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "pleach_signal:wait@1:1-0", "args": {"select": "1", "message": "parcel", "payload": null, "interruptId": "pleach_signal:wait@1:1-0", "response_schema": {"type": "integer", "title": "uint32", "format": "uint32", "minimum": 0}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wait@1"}, "timestamp": 1800000115.0, "invocation_id": "e-00000000-0000-4000-8000-00000000003b", "long_running_tool_ids": ["pleach_signal:wait@1:1-0"]}
00000000-0000-4000-8000-000000000040	state	ana	s1	e-00000000-0000-4000-8000-00000000003f	2027-01-15 08:01:57	{"id": "00000000-0000-4000-8000-000000000040", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000117.0, "invocation_id": "e-00000000-0000-4000-8000-00000000003f"}
00000000-0000-4000-8000-000000000041	state	ana	s1	e-00000000-0000-4000-8000-00000000003f	2027-01-15 08:01:58	{"id": "00000000-0000-4000-8000-000000000041", "author": "count", "output": [1, 1, 1], "actions": {"state_delta": {"runs": 1, "app:runs": 1, "user:runs": 1}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "count@1", "output_for": ["count@1"]}, "timestamp": 1800000118.0, "invocation_id": "e-00000000-0000-4000-8000-00000000003f"}
00000000-0000-4000-8000-000000000043	large	ana	s1	e-00000000-0000-4000-8000-000000000042	2027-01-15 08:02:00	{"id": "00000000-0000-4000-8000-000000000043", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "go"}]}, "node_info": {"path": ""}, "timestamp": 1800000120.0, "invocation_id": "e-00000000-0000-4000-8000-000000000042"}
00000000-0000-4000-8000-000000000044	large	ana	s1	e-00000000-0000-4000-8000-000000000042	2027-01-15 08:02:01	{"id": "00000000-0000-4000-8000-000000000044", "author": "wf", "output": {"bytes": 5002, "pleach_payload": "payload-e7f99280576d2ea5ff31b0a7fbdba5cd6b3964ac9b9e0402a9ef5b99b498c237"}, "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/make@1", "output_for": ["wf@1/make@1"]}, "timestamp": 1800000121.0, "invocation_id": "e-00000000-0000-4000-8000-000000000042", "custom_metadata": {"pleach_payloads": {"taken": [{"bytes": 5002, "place": "output", "artifact": "payload-e7f99280576d2ea5ff31b0a7fbdba5cd6b3964ac9b9e0402a9ef5b99b498c237"}]}}}
00000000-0000-4000-8000-000000000045	large	ana	s1	e-00000000-0000-4000-8000-000000000042	2027-01-15 08:02:03	{"id": "00000000-0000-4000-8000-000000000045", "author": "wf", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "keep", "args": {"message": "Keep it?", "payload": null, "interruptId": "keep", "response_schema": {"type": "boolean", "title": "boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/keep@1"}, "timestamp": 1800000123.0, "invocation_id": "e-00000000-0000-4000-8000-000000000042", "long_running_tool_ids": ["keep"]}
00000000-0000-4000-8000-000000000047	erased	ana	s1	e-00000000-0000-4000-8000-000000000046	2027-01-15 08:02:05	{"id": "00000000-0000-4000-8000-000000000047", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "[redacted]"}]}, "node_info": {"path": ""}, "timestamp": 1800000125.0, "invocation_id": "e-00000000-0000-4000-8000-000000000046", "custom_metadata": {"pleach_redactions": [{"at": 1800000128.0, "paths": ["/content"], "reason": "request 7"}]}}
00000000-0000-4000-8000-000000000059	files	ana	s1	e-00000000-0000-4000-8000-000000000058	2027-01-15 08:02:19	{"id": "00000000-0000-4000-8000-000000000059", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "An otter swims."}]}, "node_info": {"path": ""}, "timestamp": 1800000139.0, "invocation_id": "e-00000000-0000-4000-8000-000000000058"}
00000000-0000-4000-8000-000000000048	erased	ana	s1	e-00000000-0000-4000-8000-000000000046	2027-01-15 08:02:06	{"id": "00000000-0000-4000-8000-000000000048", "author": "wf", "output": {"card": "[redacted]"}, "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "wf@1/read@1", "output_for": ["wf@1/read@1"]}, "timestamp": 1800000126.0, "invocation_id": "e-00000000-0000-4000-8000-000000000046", "custom_metadata": {"pleach_redactions": [{"at": 1800000129.0, "paths": ["/output/card"], "reason": "request 7"}]}}
00000000-0000-4000-8000-000000000049	erased	ana	s1	e-00000000-0000-4000-8000-000000000046	2027-01-15 08:02:07	{"id": "00000000-0000-4000-8000-000000000049", "author": "wf", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "fine", "args": {"message": "Charge it?", "payload": null, "interruptId": "fine", "response_schema": {"type": "boolean", "title": "boolean"}}, "name": "adk_request_input"}}]}, "node_info": {"path": "wf@1/pay@1"}, "timestamp": 1800000127.0, "invocation_id": "e-00000000-0000-4000-8000-000000000046", "long_running_tool_ids": ["fine"]}
00000000-0000-4000-8000-00000000004b	sums	ana	s1	e-00000000-0000-4000-8000-00000000004a	2027-01-15 08:02:11	{"id": "00000000-0000-4000-8000-00000000004b", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "one"}]}, "node_info": {"path": ""}, "timestamp": 1800000131.0, "invocation_id": "e-00000000-0000-4000-8000-00000000004a"}
00000000-0000-4000-8000-00000000004c	sums	ana	s1	e-00000000-0000-4000-8000-00000000004a	2027-01-15 08:02:12	{"id": "00000000-0000-4000-8000-00000000004c", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "said one"}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000132.0, "invocation_id": "e-00000000-0000-4000-8000-00000000004a"}
00000000-0000-4000-8000-00000000004f	sums	ana	s1	e-00000000-0000-4000-8000-00000000004e	2027-01-15 08:02:13	{"id": "00000000-0000-4000-8000-00000000004f", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "two"}]}, "node_info": {"path": ""}, "timestamp": 1800000133.0, "invocation_id": "e-00000000-0000-4000-8000-00000000004e"}
00000000-0000-4000-8000-000000000050	sums	ana	s1	e-00000000-0000-4000-8000-00000000004e	2027-01-15 08:02:14	{"id": "00000000-0000-4000-8000-000000000050", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "said two"}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000134.0, "invocation_id": "e-00000000-0000-4000-8000-00000000004e"}
00000000-0000-4000-8000-000000000053	sums	ana	s1	e-00000000-0000-4000-8000-000000000052	2027-01-15 08:02:15	{"id": "00000000-0000-4000-8000-000000000053", "author": "user", "actions": {"compaction": {"end_timestamp": 1800000134.0, "start_timestamp": 1800000131.0, "compacted_content": {"role": "model", "parts": [{"text": "the sum"}]}}, "state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": ""}, "timestamp": 1800000135.0, "invocation_id": "e-00000000-0000-4000-8000-000000000052"}
00000000-0000-4000-8000-000000000055	sums	ana	s1	e-00000000-0000-4000-8000-000000000054	2027-01-15 08:02:16	{"id": "00000000-0000-4000-8000-000000000055", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "three"}]}, "node_info": {"path": ""}, "timestamp": 1800000136.0, "invocation_id": "e-00000000-0000-4000-8000-000000000054"}
00000000-0000-4000-8000-000000000056	sums	ana	s1	e-00000000-0000-4000-8000-000000000054	2027-01-15 08:02:17	{"id": "00000000-0000-4000-8000-000000000056", "author": "helper", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "said three"}]}, "node_info": {"path": "helper@1"}, "timestamp": 1800000137.0, "invocation_id": "e-00000000-0000-4000-8000-000000000054"}
00000000-0000-4000-8000-00000000005a	files	ana	s1	e-00000000-0000-4000-8000-000000000058	2027-01-15 08:02:23	{"id": "00000000-0000-4000-8000-00000000005a", "author": "keep", "output": 15, "actions": {"state_delta": {}, "artifact_delta": {"note.txt": 1}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "node_info": {"path": "keep@1", "output_for": ["keep@1"]}, "timestamp": 1800000143.0, "invocation_id": "e-00000000-0000-4000-8000-000000000058"}
\.
COPY public.pleach_inbox_5 (app_name, user_id, session_id, created, events, questions) FROM stdin;
refund	ana	s1	2027-01-15 08:00:16	1	1
\.
COPY public.pleach_questions_5 (app_name, user_id, session_id, place, asked_at, assignee, event_id, question_id) FROM stdin;
refund	ana	s1	0	1800000019	managers	00000000-0000-4000-8000-00000000001c	manager
\.
COPY public.pleach_settled_1 (app_name, user_id, session_id, program, created, update_time, ties, is_older) FROM stdin;
talk	ana	s1	5f98a4a2-20bb-8104-9b9e-cf75fcb4d942	2027-01-15 08:00:00	2027-01-15 08:00:02	1	f
\.
COPY public.sessions (app_name, user_id, id, state, create_time, update_time) FROM stdin;
talk	ana	s1	{}	2027-01-15 08:00:00	2027-01-15 08:00:02
desk	ana	s1	{}	2027-01-15 08:00:03	2027-01-15 08:00:09
gate	ana	s1	{}	2027-01-15 08:00:10	2027-01-15 08:00:15
refund	ana	s1	{"cents": 1200}	2027-01-15 08:00:16	2027-01-15 08:00:19
paid	ana	s1	{"cents": 1300}	2027-01-15 08:00:20	2027-01-15 08:00:25
order	ana	s1	{}	2027-01-15 08:00:26	2027-01-15 08:00:29
pair	ana	s1	{}	2027-01-15 08:00:30	2027-01-15 08:00:34
cut	ana	s1	{"first": true}	2027-01-15 08:00:35	2027-01-15 08:00:37
cut_agent	ana	s1	{}	2027-01-15 08:00:38	2027-01-15 08:00:41
patient	ana	s1	{}	2027-01-15 08:00:42	2027-01-15 08:00:45
late	ana	s1	{}	2027-01-15 08:01:17	2027-01-15 08:01:20
parcel	ana	s1	{}	2027-01-15 08:01:52	2027-01-15 08:01:55
state	ana	s1	{"runs": 1}	2027-01-15 08:01:56	2027-01-15 08:01:58
large	ana	s1	{}	2027-01-15 08:01:59	2027-01-15 08:02:03
erased	ana	s1	{}	2027-01-15 08:02:04	2027-01-15 08:02:09
sums	ana	s1	{}	2027-01-15 08:02:10	2027-01-15 08:02:17
files	ana	s1	{}	2027-01-15 08:02:18	2027-01-15 08:02:23
\.
COPY public.user_states (app_name, user_id, state, update_time) FROM stdin;
talk	ana	{}	2026-11-27 00:28:31.767075
desk	ana	{}	2026-11-27 00:28:31.782802
gate	ana	{}	2026-11-27 00:28:31.798791
refund	ana	{}	2026-11-27 00:28:31.807463
paid	ana	{}	2026-11-27 00:28:31.813114
order	ana	{}	2026-11-27 00:28:31.823365
pair	ana	{}	2026-11-27 00:28:31.831883
cut	ana	{}	2026-11-27 00:28:31.844628
cut_agent	ana	{}	2026-11-27 00:28:31.84819
patient	ana	{}	2026-11-27 00:28:31.85228
late	ana	{}	2026-11-27 00:28:31.855085
parcel	ana	{}	2026-11-27 00:28:31.861586
state	ana	{"runs": 1}	2026-11-27 00:28:31.868043
large	ana	{}	2026-11-27 00:28:31.870019
erased	ana	{}	2026-11-27 00:28:31.926023
sums	ana	{}	2026-11-27 00:28:31.953494
files	ana	{}	2026-11-27 00:28:31.967506
\.
ALTER TABLE ONLY public.adk_internal_metadata
    ADD CONSTRAINT adk_internal_metadata_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.app_states
    ADD CONSTRAINT app_states_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id, app_name, user_id, session_id);
ALTER TABLE ONLY public.pleach_inbox_5
    ADD CONSTRAINT pleach_inbox_5_pkey PRIMARY KEY (app_name, user_id, session_id);
ALTER TABLE ONLY public.pleach_questions_5
    ADD CONSTRAINT pleach_questions_5_pkey PRIMARY KEY (app_name, user_id, session_id, place);
ALTER TABLE ONLY public.pleach_settled_1
    ADD CONSTRAINT pleach_settled_1_pkey PRIMARY KEY (app_name, user_id, session_id, program);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (app_name, user_id, id);
ALTER TABLE ONLY public.user_states
    ADD CONSTRAINT user_states_pkey PRIMARY KEY (app_name, user_id);
CREATE INDEX idx_events_app_user_session_ts_id ON public.events USING btree (app_name, user_id, session_id, "timestamp" DESC, id DESC);
CREATE INDEX pleach_events_5 ON public.events USING btree (app_name, user_id, session_id) WHERE ((event_data @? '$."long_running_tool_ids"[*]'::jsonpath) OR ((event_data ->> 'error_code'::text) = 'INVOCATION_ABORTED'::text) OR ((event_data -> 'actions'::text) ? 'rewind_before_invocation_id'::text) OR (((event_data ->> 'author'::text) = 'user'::text) AND (event_data @? '$."content"."parts"[*]."function_response"'::jsonpath)) OR (event_data @? '$."content"."parts"[*]?(@."function_call"."name" starts with "adk_request_")'::jsonpath));
COMMENT ON INDEX public.pleach_events_5 IS 'pleach: the events that may concern open questions';
CREATE INDEX pleach_questions_5_by_assignee ON public.pleach_questions_5 USING btree (app_name, "left"(assignee, 128), asked_at);
CREATE INDEX pleach_questions_5_by_time ON public.pleach_questions_5 USING btree (app_name, asked_at);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_app_name_user_id_session_id_fkey FOREIGN KEY (app_name, user_id, session_id) REFERENCES public.sessions(app_name, user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.pleach_inbox_5
    ADD CONSTRAINT pleach_inbox_5_app_name_user_id_session_id_fkey FOREIGN KEY (app_name, user_id, session_id) REFERENCES public.sessions(app_name, user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.pleach_questions_5
    ADD CONSTRAINT pleach_questions_5_app_name_user_id_session_id_fkey FOREIGN KEY (app_name, user_id, session_id) REFERENCES public.pleach_inbox_5(app_name, user_id, session_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.pleach_settled_1
    ADD CONSTRAINT pleach_settled_1_app_name_user_id_session_id_fkey FOREIGN KEY (app_name, user_id, session_id) REFERENCES public.sessions(app_name, user_id, id) ON DELETE CASCADE;
