"""The part of the app of the example `server` that the conversation needs, for google-adk."""

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types


class Scripted(BaseLlm):
    """A model that answers the last message, like the scripted model of the example."""

    async def generate_content_async(self, llm_request, stream=False):
        del stream
        parts = llm_request.contents[-1].parts
        results = [part.function_response for part in parts if part.function_response]
        if results:
            yield said(f"tool said: {list(results[-1].response.items())}")
            return
        text = " ".join(part.text for part in parts if part.text)
        if "delete" in text:
            yield calls("delete_file", {"path": "a.txt"})
        elif "weather" in text:
            yield calls("get_weather", {"city": "Paris"})
        else:
            texts = [part.text for content in llm_request.contents for part in content.parts if part.text]
            yield said(f"Hello from google-adk. The history has {len(texts)} texts.")


def said(text):
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def calls(name, args):
    part = types.Part(function_call=types.FunctionCall(name=name, args=args))
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def get_weather(city: str) -> dict:
    """Looks up the weather for a city."""
    return {"city": city, "temp_c": 21}


def delete_file(path: str) -> dict:
    """Deletes a file."""
    return {"deleted": path}


helper = LlmAgent(name="helper", description="Helps.", instruction="Help.", model=Scripted(model="scripted"))
root_agent = LlmAgent(
    name="demo_agent",
    description="A demo agent.",
    instruction="Be brief.",
    model=Scripted(model="scripted"),
    tools=[get_weather, FunctionTool(delete_file, require_confirmation=True)],
    sub_agents=[helper],
)
