// A plugin of two devices that keeps every rule of `pjrt-scaffold check`, and breaks the one that
// its file is called after (PJ412.so). It can run nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generated/pjrt_c_api.h"

struct PJRT_DeviceDescription {
  int id;
};
struct PJRT_Device {
  PJRT_DeviceDescription description;
  PJRT_Memory* memory;
};
struct PJRT_Client {
  int unused;
};
typedef struct {
  const void* vtable;
  int code;
  char message[80];
} Error;

static PJRT_Api api;
static PJRT_Device devices[2];
static PJRT_Memory memories[2];
static PJRT_Device* all[2] = {&devices[0], &devices[1]};
static PJRT_Memory* each[2] = {&memories[0], &memories[1]};
static char shared_message[80];
static int clients;

static bool Fault(const char* name) {
  static char chosen[40];
  Dl_info info;
  if (chosen[0] == 0 && dladdr(&api, &info) != 0) {
    snprintf(chosen, sizeof chosen, "%s", strrchr(info.dli_fname, '/') + 1);
    *strchr(chosen, '.') = 0;
  }
  return strcmp(chosen, name) == 0;
}

static void Die(void) { abort(); }

static PJRT_Error* Fail(int code, const char* message, int value) {
  Error* error = calloc(1, sizeof *error);
  error->code = code;
  snprintf(error->message, sizeof error->message, message, value);
  return (PJRT_Error*)error;
}

static PJRT_Error* Unimplemented(void* args) {
  (void)args;
  return Fail(PJRT_Error_Code_UNIMPLEMENTED, "not here (%d)", 0);
}

// What every function does first: a framework may be newer, not older.
#define CHECK_SIZE(type)                                                   \
  if (args->struct_size < type##_STRUCT_SIZE ||                            \
      (Fault("PJ208") && args->struct_size != type##_STRUCT_SIZE)) {       \
    return Fail(PJRT_Error_Code_INVALID_ARGUMENT, "struct of %d bytes", 0); \
  }

static void ErrorDestroy(PJRT_Error_Destroy_Args* args) { free(args->error); }

static void ErrorMessage(PJRT_Error_Message_Args* args) {
  const Error* error = (const Error*)args->error;
  args->message = error->message;
  if (Fault("PJ304")) {
    strcpy(shared_message, error->message);
    args->message = shared_message;
  }
  args->message_size = strlen(args->message);
  if (Fault("PJ303")) args->message_size = 0;
  if (Fault("PJ303-bytes")) {
    args->message = "\xff\xfe";
    args->message_size = 2;
  }
}

static PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args) {
  args->code = (PJRT_Error_Code)(Fault("PJ302") ? 99 : ((const Error*)args->error)->code);
  return NULL;
}

static PJRT_Error* Initialize(PJRT_Plugin_Initialize_Args* args) {
  CHECK_SIZE(PJRT_Plugin_Initialize_Args)
  if (Fault("PJ401")) return Fail(PJRT_Error_Code_INTERNAL, "no driver %d", 7);
  return NULL;
}

static PJRT_Error* Attributes(PJRT_Plugin_Attributes_Args* args) {
  CHECK_SIZE(PJRT_Plugin_Attributes_Args)
  if (Fault("PJ402")) return Unimplemented(args);
  args->attributes = NULL;
  args->num_attributes = Fault("PJ402-null") ? 3 : 0;
  return NULL;
}

static PJRT_Error* ClientCreate(PJRT_Client_Create_Args* args) {
  CHECK_SIZE(PJRT_Client_Create_Args)
  if (Fault("PJ403")) return Fail(PJRT_Error_Code_INTERNAL, "no device %d", 0);
  if (Fault("PJ403-crash")) abort();
  if (Fault("PJ403-hang")) sleep(600);
  if (Fault("PJ403-exit")) _exit(3);
  if (Fault("PJ406") && clients > 0) return Fail(PJRT_Error_Code_INTERNAL, "client %d", 2);
  ++clients;
  if (Fault("PJ407")) atexit(Die);
  args->client = Fault("PJ403-null") ? NULL : calloc(1, sizeof(PJRT_Client));
  return NULL;
}

static PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* args) {
  if (Fault("PJ406-crash")) abort();
  free(args->client);
  return NULL;
}

static PJRT_Error* PlatformName(PJRT_Client_PlatformName_Args* args) {
  CHECK_SIZE(PJRT_Client_PlatformName_Args)
  args->platform_name = Fault("PJ404") ? "MyChip" : Fault("PJ404-empty") ? "" : "mychip";
  args->platform_name_size = strlen(args->platform_name);
  if (Fault("PJ104-later")) puts("platform asked for");
  return NULL;
}

static PJRT_Error* PlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  CHECK_SIZE(PJRT_Client_PlatformVersion_Args)
  args->platform_version = "mychip 0.1";
  args->platform_version_size = Fault("PJ405") ? 0 : strlen(args->platform_version);
  return NULL;
}

static PJRT_Error* ProcessIndex(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = Fault("PJ417") ? 4 : 0;
  return NULL;
}

static PJRT_Error* Devices(PJRT_Client_Devices_Args* args) {
  CHECK_SIZE(PJRT_Client_Devices_Args)
  args->devices = all;
  args->num_devices = Fault("PJ413") ? 1 : 2;
  if (Fault("PJ209")) args[1].struct_size = 0;
  return NULL;
}

static PJRT_Error* AddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  CHECK_SIZE(PJRT_Client_AddressableDevices_Args)
  args->addressable_devices = all;
  args->num_addressable_devices = Fault("PJ411") ? 0 : 2;
  return NULL;
}

static PJRT_Error* LookupDevice(PJRT_Client_LookupDevice_Args* args) {
  args->device = NULL;
  for (int i = 0; i < 2; ++i) {
    if (devices[i].description.id == args->id) args->device = &devices[Fault("PJ414") ? 0 : i];
  }
  if (args->device != NULL || Fault("PJ301")) return NULL;
  return Fail(PJRT_Error_Code_INVALID_ARGUMENT, "there is no device %d", args->id);
}

static PJRT_Error* Description(PJRT_Device_GetDescription_Args* args) {
  CHECK_SIZE(PJRT_Device_GetDescription_Args)
  args->device_description = &args->device->description;
  return NULL;
}

static PJRT_Error* IsAddressable(PJRT_Device_IsAddressable_Args* args) {
  CHECK_SIZE(PJRT_Device_IsAddressable_Args)
  args->is_addressable = !Fault("PJ413-flag");
  return NULL;
}

static PJRT_Error* Id(PJRT_DeviceDescription_Id_Args* args) {
  CHECK_SIZE(PJRT_DeviceDescription_Id_Args)
  args->id = Fault("PJ412") ? 0 : args->device_description->id;
  if (Fault("PJ412-negative") && args->id == 0) args->id = -1;
  return NULL;
}

static PJRT_Error* DeviceProcess(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = 0;
  return NULL;
}

static PJRT_Error* Kind(PJRT_DeviceDescription_Kind_Args* args) {
  CHECK_SIZE(PJRT_DeviceDescription_Kind_Args)
  args->device_kind = "chip";
  args->device_kind_size = Fault("PJ415") ? 0 : 4;
  return NULL;
}

static PJRT_Error* ToString(PJRT_DeviceDescription_ToString_Args* args) {
  args->to_string = "chip";
  args->to_string_size = 4;
  return Fault("PJ415-error") ? Unimplemented(args) : NULL;
}

static PJRT_Error* DebugString(PJRT_DeviceDescription_DebugString_Args* args) {
  args->debug_string = "chip";
  args->debug_string_size = 4;
  return NULL;
}

static PJRT_Error* DeviceAttributes(PJRT_DeviceDescription_Attributes_Args* args) {
  static PJRT_NamedValue value;
  CHECK_SIZE(PJRT_DeviceDescription_Attributes_Args)
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = "cores";
  value.name_size = 5;
  value.type = Fault("PJ416") ? PJRT_NamedValue_kFloat : PJRT_NamedValue_kInt64;
  value.value_size = 1;
  args->attributes = &value;
  args->num_attributes = 1;
  return NULL;
}

static PJRT_Error* DeviceMemories(PJRT_Device_AddressableMemories_Args* args) {
  args->memories = &each[args->device - devices];
  args->num_memories = 1;
  return NULL;
}

static PJRT_Error* DefaultMemory(PJRT_Device_DefaultMemory_Args* args) {
  args->memory = Fault("PJ421") ? &memories[0] : args->device->memory;
  if (Fault("PJ421-null")) args->memory = NULL;
  return NULL;
}

static PJRT_Error* MemoryKind(PJRT_Memory_Kind_Args* args) {
  args->kind = "device";
  args->kind_size = Fault("PJ422") ? 0 : strlen(args->kind);
  return NULL;
}

static PJRT_Error* MemoryDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  args->devices = &all[Fault("PJ423") ? 0 : args->memory - memories];
  args->num_devices = 1;
  return NULL;
}

static PJRT_Extension_Base extension = {sizeof extension, PJRT_Extension_Type_Example, NULL};

static void Fill(void) {
  char* slots = (char*)&api.PJRT_Error_Destroy;
  PJRT_Error* (*unimplemented)(void*) = Unimplemented;
  for (size_t i = 0; i + sizeof(void*) <= PJRT_Api_STRUCT_SIZE - (size_t)(slots - (char*)&api);
       i += sizeof(void*)) {
    memcpy(slots + i, &unimplemented, sizeof(void*));
  }
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = &extension;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Destroy = ErrorDestroy;
  api.PJRT_Error_Message = ErrorMessage;
  api.PJRT_Error_GetCode = ErrorGetCode;
  api.PJRT_Plugin_Initialize = Initialize;
  api.PJRT_Plugin_Attributes = Attributes;
  api.PJRT_Client_Create = ClientCreate;
  api.PJRT_Client_Destroy = ClientDestroy;
  api.PJRT_Client_PlatformName = PlatformName;
  api.PJRT_Client_PlatformVersion = PlatformVersion;
  api.PJRT_Client_ProcessIndex = ProcessIndex;
  api.PJRT_Client_Devices = Devices;
  api.PJRT_Client_AddressableDevices = AddressableDevices;
  api.PJRT_Client_LookupDevice = LookupDevice;
  api.PJRT_Device_GetDescription = Description;
  api.PJRT_Device_IsAddressable = IsAddressable;
  api.PJRT_DeviceDescription_Id = Id;
  api.PJRT_DeviceDescription_ProcessIndex = DeviceProcess;
  api.PJRT_DeviceDescription_Kind = Kind;
  api.PJRT_DeviceDescription_ToString = ToString;
  api.PJRT_DeviceDescription_DebugString = DebugString;
  api.PJRT_DeviceDescription_Attributes = DeviceAttributes;
  api.PJRT_Device_AddressableMemories = DeviceMemories;
  api.PJRT_Device_DefaultMemory = DefaultMemory;
  api.PJRT_Memory_Kind = MemoryKind;
  api.PJRT_Memory_AddressableByDevices = MemoryDevices;
}

const PJRT_Api* GetPjrtApi(void) {
  Fill();
  for (int i = 0; i < 2; ++i) {
    devices[i] = (PJRT_Device){{i}, &memories[i]};
  }
  if (Fault("PJ103")) return NULL;
  if (Fault("PJ103-crash")) abort();
  if (Fault("PJ103-hang")) sleep(600);
  if (Fault("PJ104")) puts("hello from the plugin");
  if (Fault("PJ105")) atexit(Die);
  if (Fault("PJ201")) api.pjrt_api_version.major_version = 1;
  if (Fault("PJ202")) api.pjrt_api_version.minor_version = 28;
  if (Fault("PJ203")) api.struct_size -= 2 * sizeof(void*);
  if (Fault("PJ204")) api.PJRT_Client_Compile = NULL;
  if (Fault("PJ205")) memset(&api.PJRT_Client_Compile, 0x5a, sizeof(void*));
  if (Fault("PJ206")) extension.next = &extension;
  if (Fault("PJ207")) extension.struct_size = 8;
  return &api;
}
