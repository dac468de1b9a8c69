"""Plays the scenarios of `tests/src/trees` with google-adk.

    play_trees.py < SCENARIOS > TRACES

Every line of standard input is a scenario. Every line of standard output is the trace of a scenario, not normalised, or
{"fault": TEXT} if the scenario is wrong. It knows only the part of the scenario language that `tests/src/trees` uses.
"""

import asyncio
import inspect
import json
import logging
import sys
import warnings

warnings.filterwarnings('ignore')
logging.disable(logging.CRITICAL)

from google.adk.agents.context import Context
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.version import __version__
from google.adk.workflow import JoinNode, Workflow, node as as_node
from google.genai import types

USER, SESSION = 'user_1', 's1'
SHELLS = {'sequential_agent': SequentialAgent, 'parallel_agent': ParallelAgent, 'loop_agent': LoopAgent}
SETTINGS = {
    'description',
    'disallow_transfer_to_parent',
    'disallow_transfer_to_peers',
    'instruction',
    'max_iterations',
    'mode',
    'output_key',
}
HANGS = 20


def plain(value):
    """Turns a value that google-adk passes to a function into JSON."""
    if isinstance(value, types.Content):
        return value.model_dump(mode='json', by_alias=True, exclude_none=True)
    return value


class Steps:
    """The body of a function or a tool."""

    def __init__(self, play, steps):
        self.play, self.steps = play, steps

    async def run(self, ctx, given):
        seen = {'input': plain(given)}
        for step in self.steps:
            if 'return' in step:
                return self.value(step['return'], seen)
            if 'set_state' in step:
                for key, value in step['set_state'].items():
                    ctx.state[key] = self.value(value, seen)
            elif 'actions' in step:
                for key, value in step['actions'].items():
                    setattr(ctx.actions, key, value)
            elif 'run_node' in step:
                call = step['run_node']
                given = self.value(call['input'], seen)
                seen['var.' + step['as']] = plain(await ctx.run_node(self.play.library[call['node']], given))
            else:
                raise AssertionError(f'unknown step {step}')

    def value(self, expression, seen):
        if isinstance(expression, dict):
            if list(expression) == ['$']:
                return seen[expression['$']]
            return {key: self.value(value, seen) for key, value in expression.items()}
        return expression


def response(described):
    if isinstance(described, str):
        described = {'text': described}
    parts = [types.Part(text=described['text'])] if 'text' in described else []
    for call in described.get('calls', []):
        call = types.FunctionCall(name=call['name'], args=call['args'], id=call.get('id'))
        parts.append(types.Part(function_call=call))
    return LlmResponse(content=types.Content(role='model', parts=parts), partial=described.get('partial'))


class Script(BaseLlm):
    """A model that answers call by call and records its requests."""

    model: str = 'scripted'
    agent: str
    responses: list
    play: object
    asked: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        config = llm_request.config
        tools = [declared.name for tool in config.tools or [] for declared in tool.function_declarations or []]
        contents = [content.model_dump(mode='json', by_alias=True, exclude_none=True) for content in llm_request.contents]
        request = {'agent': self.agent, 'system_instruction': config.system_instruction, 'contents': contents, 'tools': tools}
        if stream:
            request['stream'] = True
        self.play.requests.append(request)
        if self.asked >= len(self.responses):
            raise RuntimeError('scripted model exhausted')
        answer = self.responses[self.asked]
        self.asked += 1
        for item in answer['chunks'] if isinstance(answer, dict) and 'chunks' in answer else [answer]:
            yield response(item)


class Play:
    """One scenario."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.requests, self.seen, self.answered = [], [], set()
        self.library = {key: self.node(node, key) for key, node in scenario.get('library', {}).items()}

    def node(self, spec, name=None):
        kind, name = spec['kind'], spec.get('name', name)
        if kind == 'workflow':
            return self.workflow(spec, name)
        if kind == 'join':
            return JoinNode(name=name)
        if kind == 'function':
            return self.function(spec, name)
        kw = {key: spec[key] for key in SETTINGS if key in spec}
        kw['sub_agents'] = [self.node(sub) for sub in spec.get('sub_agents', [])]
        if kind in SHELLS:
            return SHELLS[kind](name=name, **kw)
        kw['tools'] = [self.tool(tool) for tool in spec.get('tools', [])]
        kw['model'] = Script(agent=name, responses=spec['model']['responses'], play=self)
        return LlmAgent(name=name, **kw)

    def workflow(self, spec, name):
        nodes = {key: self.node(node, key) for key, node in spec['nodes'].items()}
        nodes['START'] = 'START'

        def element(keys):
            return tuple(nodes[key] for key in keys) if isinstance(keys, list) else nodes[keys]

        return Workflow(name=name, edges=[tuple(element(keys) for keys in chain) for chain in spec['edges']])

    def function(self, spec, name):
        body = Steps(self, spec['steps'])

        async def function(ctx: Context, node_input):
            return await body.run(ctx, node_input)

        function.__name__ = name
        settings = {key: spec[key] for key in ['rerun_on_resume'] if key in spec}
        return as_node(function, name=name, **settings)

    def tool(self, spec):
        body = Steps(self, spec['steps'])

        async def function(tool_context: Context):
            return await body.run(tool_context, {})

        function.__name__, function.__doc__ = spec['name'], spec['description']
        if spec.get('long_running'):
            return LongRunningFunctionTool(function)
        return FunctionTool(function, require_confirmation=spec.get('require_confirmation', False))

    def message(self, turn):
        """The message of a turn: the answer to the newest open call, or a text."""
        for event in reversed(self.seen):
            for call in reversed(event.get_function_calls()):
                answer = turn.get('answer_open', {}).get(call.name)
                if answer is not None and call.id not in self.answered and not event.partial:
                    self.answered.add(call.id)
                    given = types.FunctionResponse(id=call.id, name=call.name, response=answer)
                    return types.Content(role='user', parts=[types.Part(function_response=given)])
        return types.Content(role='user', parts=[types.Part(text=turn['message'])])

    async def turn(self, runner, turn):
        self.requests = []
        record = {'yielded': []}
        kw = {}
        if turn.get('run_config', {}).get('streaming') == 'sse':
            kw['run_config'] = RunConfig(streaming_mode=StreamingMode.SSE)

        async def drive():
            events = runner.run_async(user_id=USER, session_id=SESSION, new_message=self.message(turn), **kw)
            async for event in events:
                record['yielded'].append(dumped(event))
                self.seen.append(event)

        try:
            await asyncio.wait_for(drive(), HANGS)
        except AssertionError:
            raise
        except Exception as error:
            record['error'] = {'type': type(error).__name__, 'message': str(error)}
        record['llm_requests'] = self.requests
        return record

    async def trace(self):
        app = self.scenario.get('app', {})
        resumable = ResumabilityConfig(is_resumable=True) if app.get('resumable') else None
        app = App(name='conf_app', root_agent=self.node(self.scenario['root']), resumability_config=resumable)
        sessions = InMemorySessionService()
        runner = Runner(app=app, session_service=sessions)
        await sessions.create_session(app_name='conf_app', user_id=USER, session_id=SESSION)
        turns = [await self.turn(runner, turn) for turn in self.scenario['turns']]
        stored = await sessions.get_session(app_name='conf_app', user_id=USER, session_id=SESSION)
        session = {'events': [dumped(event) for event in stored.events], 'state': dict(stored.state)}
        return {'scenario': self.scenario['name'], 'turns': turns, 'sessions': {SESSION: session}}


def dumped(event):
    """An event as JSON. Nulls inside outputs and states are kept."""
    out = event.model_dump(mode='json', by_alias=True, exclude_none=True)
    if event.output is not None:
        out['output'] = plain(event.output)
    if event.actions.state_delta:
        out['actions']['stateDelta'] = dict(event.actions.state_delta)
    return json.loads(json.dumps(out))


def main():
    print(json.dumps({'google_adk': __version__}), flush=True)
    for line in sys.stdin:
        try:
            trace = asyncio.run(Play(json.loads(line)).trace())
        except Exception as error:
            trace = {'fault': f'{type(error).__name__}: {error}'}
        print(json.dumps(trace), flush=True)


main()
