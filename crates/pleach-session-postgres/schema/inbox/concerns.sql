(event_data @? '$.long_running_tool_ids[*]' OR event_data ->> 'error_code' = 'INVOCATION_ABORTED'
    OR event_data -> 'actions' ? 'rewind_before_invocation_id'
    OR event_data ->> 'author' = 'user' AND event_data @? '$.content.parts[*].function_response'
    OR event_data @? '$.content.parts[*] ? (@.function_call.name starts with "adk_request_")')
