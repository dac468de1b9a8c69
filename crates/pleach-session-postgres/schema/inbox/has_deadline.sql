event_data @? '$.content.parts[*].function_call ? (@.name == "adk_request_input").args.deadline ? (@.type() == "number")'
