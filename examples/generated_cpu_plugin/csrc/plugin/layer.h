#ifndef PLUGIN_LAYER_H_
#define PLUGIN_LAYER_H_

// Layer: the functions of the PJRT C API that this plugin implements, each in the file of its
// object. What is not declared here answers as generated/defaults.h says; what a vendor wants
// otherwise is hidden in vendor/overrides.h.
//
// The guard stands in front of every function: `args` is of full size, its required members are not
// null, and an exception becomes an error.

#include "generated/config.h"
#include "generated/defaults.h"
#include "generated/features.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

#define PJRT_LAYER(name) static PJRT_Error* name(PJRT_##name##_Args* args)

struct Layer : generated::Defaults {
  // error.cc
  static void Error_Destroy(PJRT_Error_Destroy_Args* args);
  static void Error_Message(PJRT_Error_Message_Args* args);
  PJRT_LAYER(Error_GetCode);
#if PJRT_SCAFFOLD_HAS_PJRT_Error_ForEachPayload
  PJRT_LAYER(Error_ForEachPayload);
#endif

  // plugin_attributes.cc
  PJRT_LAYER(Plugin_Initialize);
  PJRT_LAYER(Plugin_Attributes);

  // event.cc
  PJRT_LAYER(Event_Destroy);
  PJRT_LAYER(Event_IsReady);
  PJRT_LAYER(Event_Error);
  PJRT_LAYER(Event_Await);
  PJRT_LAYER(Event_OnReady);
#if PJRT_SCAFFOLD_HAS_PJRT_Event_Create
  PJRT_LAYER(Event_Create);
  PJRT_LAYER(Event_Set);
#endif

  // client.cc
  PJRT_LAYER(Client_Create);
  PJRT_LAYER(Client_Destroy);
  PJRT_LAYER(Client_PlatformName);
  PJRT_LAYER(Client_ProcessIndex);
  PJRT_LAYER(Client_PlatformVersion);
  PJRT_LAYER(Client_Devices);
  PJRT_LAYER(Client_AddressableDevices);
  PJRT_LAYER(Client_AddressableMemories);
  PJRT_LAYER(Client_LookupDevice);
  PJRT_LAYER(Client_LookupAddressableDevice);
  PJRT_LAYER(Client_DefaultDeviceAssignment);

  // topology.cc
  PJRT_LAYER(Client_TopologyDescription);
  PJRT_LAYER(TopologyDescription_PlatformName);
  PJRT_LAYER(TopologyDescription_PlatformVersion);
  PJRT_LAYER(TopologyDescription_GetDeviceDescriptions);
  PJRT_LAYER(TopologyDescription_Attributes);
  PJRT_LAYER(TopologyDescription_Serialize);
#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Fingerprint
  PJRT_LAYER(TopologyDescription_Fingerprint);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_GetMemorySpaceKindIds
  PJRT_LAYER(TopologyDescription_GetMemorySpaceKindIds);
#endif

  // topology_create.cc
  PJRT_LAYER(TopologyDescription_Create);
  PJRT_LAYER(TopologyDescription_Destroy);
#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Deserialize
  PJRT_LAYER(TopologyDescription_Deserialize);
#endif

  // canonical_shape.cc
#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace
  PJRT_LAYER(TopologyDescription_MakeCanonicalShapeForMemorySpace);
#endif

  // device.cc
  PJRT_LAYER(DeviceDescription_Id);
  PJRT_LAYER(DeviceDescription_ProcessIndex);
  PJRT_LAYER(DeviceDescription_Attributes);
  PJRT_LAYER(DeviceDescription_Kind);
  PJRT_LAYER(DeviceDescription_DebugString);
  PJRT_LAYER(DeviceDescription_ToString);
  PJRT_LAYER(Device_GetDescription);
  PJRT_LAYER(Device_IsAddressable);
  PJRT_LAYER(Device_LocalHardwareId);
  PJRT_LAYER(Device_AddressableMemories);
  PJRT_LAYER(Device_DefaultMemory);
  PJRT_LAYER(Device_MemoryStats);
#if PJRT_SCAFFOLD_HAS_PJRT_Device_GetAttributes
  PJRT_LAYER(Device_GetAttributes);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Device_ClearMemoryStats
  PJRT_LAYER(Device_ClearMemoryStats);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution
  PJRT_LAYER(Device_PoisonExecution);
#endif

  // process_info.cc
#if PJRT_SCAFFOLD_HAS_PJRT_ProcessInfo_struct_size
  PJRT_LAYER(Client_UpdateGlobalProcessInfo);
#endif

  // mapped_memory.cc
#if PJRT_SCAFFOLD_HAS_PJRT_Client_DmaMap
  PJRT_LAYER(Client_DmaMap);
  PJRT_LAYER(Client_DmaUnmap);
#endif

  // memory.cc
  PJRT_LAYER(Memory_Id);
  PJRT_LAYER(Memory_Kind);
  PJRT_LAYER(Memory_Kind_Id);
  PJRT_LAYER(Memory_DebugString);
  PJRT_LAYER(Memory_ToString);
  PJRT_LAYER(Memory_AddressableByDevices);

  // buffer_create.cc
  PJRT_LAYER(Client_BufferFromHostBuffer);
  PJRT_LAYER(Client_CreateViewOfDeviceBuffer);
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateUninitializedBuffer
  PJRT_LAYER(Client_CreateUninitializedBuffer);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateErrorBuffer
  PJRT_LAYER(Client_CreateErrorBuffer);
#endif

  // buffer.cc
  PJRT_LAYER(Buffer_Destroy);
  PJRT_LAYER(Buffer_ElementType);
  PJRT_LAYER(Buffer_Dimensions);
  PJRT_LAYER(Buffer_UnpaddedDimensions);
  PJRT_LAYER(Buffer_DynamicDimensionIndices);
  PJRT_LAYER(Buffer_OnDeviceSizeInBytes);
  PJRT_LAYER(Buffer_Device);
  PJRT_LAYER(Buffer_Memory);
  PJRT_LAYER(Buffer_Delete);
  PJRT_LAYER(Buffer_IsDeleted);
  PJRT_LAYER(Buffer_IsOnCpu);
  PJRT_LAYER(Buffer_ReadyEvent);
  PJRT_LAYER(Buffer_UnsafePointer);
  PJRT_LAYER(Buffer_IncreaseExternalReferenceCount);
  PJRT_LAYER(Buffer_DecreaseExternalReferenceCount);
  PJRT_LAYER(Buffer_OpaqueDeviceMemoryDataPointer);

  // buffer_layout.cc
  PJRT_LAYER(Buffer_GetMemoryLayout);

  // buffer_replace.cc
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Bitcast
  PJRT_LAYER(Buffer_Bitcast);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_DonateWithControlDependency
  PJRT_LAYER(Buffer_DonateWithControlDependency);
#endif

  // alias_buffer.cc
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateAliasBuffer
  PJRT_LAYER(Client_CreateAliasBuffer);
  PJRT_LAYER(Client_FulfillAliasBuffer);
#endif

  // buffer_copy.cc
  PJRT_LAYER(Buffer_ToHostBuffer);
  PJRT_LAYER(Buffer_CopyToDevice);
  PJRT_LAYER(Buffer_CopyToMemory);
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
  PJRT_LAYER(Buffer_CopyRawToHost);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
  PJRT_LAYER(Buffer_CopyRawToHostFuture);
#endif

  // transfer.cc
#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer
  PJRT_LAYER(Client_CreateBuffersForAsyncHostToDevice);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_Destroy);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_TransferData);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_RetrieveBuffer);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_Device);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_BufferCount);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_BufferSize);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_SetBufferError);
  PJRT_LAYER(AsyncHostToDeviceTransferManager_AddMetadata);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_TransferLiteral
  PJRT_LAYER(AsyncHostToDeviceTransferManager_TransferLiteral);
#endif

  // executable.cc
  PJRT_LAYER(Executable_Destroy);
  PJRT_LAYER(Executable_Name);
  PJRT_LAYER(Executable_NumReplicas);
  PJRT_LAYER(Executable_NumPartitions);
  PJRT_LAYER(Executable_NumOutputs);
  PJRT_LAYER(Executable_SizeOfGeneratedCodeInBytes);
  PJRT_LAYER(Executable_GetCostAnalysis);
  PJRT_LAYER(Executable_GetCompiledMemoryStats);
  PJRT_LAYER(Executable_OutputMemoryKinds);
  PJRT_LAYER(Executable_OutputElementTypes);
  PJRT_LAYER(Executable_OutputDimensions);
  PJRT_LAYER(Executable_OptimizedProgram);
  PJRT_LAYER(Executable_Fingerprint);
  PJRT_LAYER(LoadedExecutable_Fingerprint);
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_ParameterMemoryKinds
  PJRT_LAYER(Executable_ParameterMemoryKinds);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_GetCompileOptions
  PJRT_LAYER(Executable_GetCompileOptions);
#endif

  // load.cc
  PJRT_LAYER(Client_Compile);
  PJRT_LAYER(Compile);
  PJRT_LAYER(Executable_Serialize);
  PJRT_LAYER(Executable_DeserializeAndLoad);
  PJRT_LAYER(LoadedExecutable_Destroy);
  PJRT_LAYER(LoadedExecutable_GetExecutable);
  PJRT_LAYER(LoadedExecutable_AddressableDevices);
  PJRT_LAYER(LoadedExecutable_Delete);
  PJRT_LAYER(LoadedExecutable_IsDeleted);
#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_GetDeviceAssignment
  PJRT_LAYER(LoadedExecutable_GetDeviceAssignment);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_AddressableDeviceLogicalIds
  PJRT_LAYER(LoadedExecutable_AddressableDeviceLogicalIds);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Client_Load
  PJRT_LAYER(Client_Load);
#endif

  // copy_to_device_stream.cc
  PJRT_LAYER(CopyToDeviceStream_Destroy);
  PJRT_LAYER(CopyToDeviceStream_AddChunk);
  PJRT_LAYER(CopyToDeviceStream_TotalBytes);
  PJRT_LAYER(CopyToDeviceStream_GranuleSize);
  PJRT_LAYER(CopyToDeviceStream_CurrentBytes);

  // execute.cc
  PJRT_LAYER(LoadedExecutable_Execute);

  // execute_context.cc
  PJRT_LAYER(ExecuteContext_Create);
  PJRT_LAYER(ExecuteContext_Destroy);
};

#undef PJRT_LAYER

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_LAYER_H_
